/* NVRTC knows the functions by itself. */
#ifndef NVRTC_MATH_H
#define NVRTC_MATH_H
#define INFINITY __int_as_float(0x7f800000)
#endif
