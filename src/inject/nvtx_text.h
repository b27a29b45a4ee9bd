/* nvtx_text - a message of NVTX, as text. */
#ifndef INJECT_NVTX_TEXT_H
#define INJECT_NVTX_TEXT_H

#include <stdint.h>

#define NVTX_TEXT_MOST 256

/* NULL: there is none. `room` is used where it has to be made. */
const char *nvtx_text(int32_t type, const void *message, char room[NVTX_TEXT_MOST]);

#endif
