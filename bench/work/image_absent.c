/* The image of a build without CUDA: none. */
#include "workimage.h"

const unsigned char hdpw_image_data[] = { 0 };
const size_t hdpw_image_bytes = 0;
