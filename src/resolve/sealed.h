/* sealed - the bytes of a kept file, of which only what is read is looked at and checked.
 *
 * A file of this kind begins with a head and a table of checksums, one for each page of what
 * follows, and the head has that of the table: so a few names out of millions of bytes take a few
 * pages, and none of them is believed when a bit of it has changed. It is read, never mapped:
 * whoever cuts it meanwhile makes a read fail, and nothing else.
 */
#ifndef RESOLVE_SEALED_H
#define RESOLVE_SEALED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEALED_BYTES_MOST (64u << 20)

struct sealed {
    const void *memory; /* the bytes themselves, where they are at hand: then there is no file */
    uint64_t bytes;
    int fd;
    uint64_t body;            /* where they begin in the file */
    uint64_t *checks;         /* of each page */
    struct sealed_held *held; /* the pages that were read last */
    unsigned char *room;      /* that they are in */
    size_t count;
};

/* Of bytes that outlive it. */
void sealed_of_memory(struct sealed *p, const void *bytes, size_t size);

/* Of a file, which is closed by sealed_close; false, and the file is closed, when it is none of
 * this kind.
 */
bool sealed_open(struct sealed *p, int fd);
void sealed_close(struct sealed *p);

/* Copies `size` bytes from `at`; false where they are not, or are not what was written. */
bool sealed_read(struct sealed *p, uint64_t at, void *to, size_t size);

/* Writes such a file; false when that fails. */
bool sealed_write(int fd, const void *bytes, size_t size);

#endif
