/* native_code - the code of a recorded process as its memory shows it: which files, where each
 * begins, and its unwind data. No file is opened for it. What was found is kept.
 */
#ifndef COLLECT_NATIVE_CODE_H
#define COLLECT_NATIVE_CODE_H

#include "base/intmap.h"
#include "cfi/far_walk.h"
#include "collect/native_maps.h"

struct native_code {
    struct far_code far; /* for who walks */
    uint32_t pid;
    struct native_maps maps;
    struct native_image {
        uintptr_t header;
        struct far_image image; /* end 0: it is none */
    } * images;                 /* those that were needed */
    size_t image_count, image_room;
    struct intmap places; /* by return address */
    size_t place_count;
    uint64_t now_ns, read_ns, pause_ns; /* when maps were read, and for how long they will do */
};

struct native_code *native_code_new(uint32_t pid);
void native_code_free(struct native_code *c);

/* Modules have come and gone: whatever was found may be wrong. */
void native_code_forget(struct native_code *c);

/* The file of code that an address is in; NULL: none that is known. *range: its mapping. */
const struct far_image *native_code_image(struct native_code *c, uintptr_t address,
                                          const struct native_range **range);

#endif
