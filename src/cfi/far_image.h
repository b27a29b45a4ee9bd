/* far_image - a file of code as it lies in memory that is not ours: its first bytes say what it is.
 */
#ifndef CFI_FAR_IMAGE_H
#define CFI_FAR_IMAGE_H

#include "cfi/far.h"

#define FAR_IMAGE_ID_MOST 32u

struct far_image {
    uintptr_t start, end;                /* from its first segment to the end of its last */
    uintptr_t bias;                      /* what addresses of its file are moved by */
    uintptr_t table;                     /* its .eh_frame_hdr; 0: it has none */
    uintptr_t dynamic;                   /* what its loader reads; 0: it is not loaded */
    unsigned char id[FAR_IMAGE_ID_MOST]; /* its build-id */
    size_t id_bytes;
};

/* `header`: where the beginning of the file is. False: that is no file of code. */
bool far_image_read(const struct far *f, uintptr_t header, struct far_image *out);

#endif
