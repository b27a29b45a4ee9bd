/* unpack - the contents of a section that is packed as a whole. */
#ifndef NAMER_UNPACK_H
#define NAMER_UNPACK_H

#include <stddef.h>

/* What the xz stream holds, to be freed; NULL when it is damaged or larger than is believable. */
void *unpack_xz(const void *packed, size_t packed_size, size_t *size);

#endif
