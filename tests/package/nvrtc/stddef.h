/* NVRTC knows size_t and offsetof by itself. */
