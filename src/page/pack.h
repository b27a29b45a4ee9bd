/* pack - bytes of the page's data: columns of varints, sections, and all of it deflated. See
 * docs/PAGE.md.
 */
#ifndef PAGE_PACK_H
#define PAGE_PACK_H

#include "base/intmap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes { /* zeroed: none */
    unsigned char *data;
    size_t count, room;
};

void bytes_put(struct bytes *b, const void *data, size_t count);
void bytes_put_u32(struct bytes *b, uint32_t number);
void bytes_varint(struct bytes *b, uint64_t number);
void bytes_free(struct bytes *b);

#define PACK_COLUMNS 7
#define PACK_SECTIONS 16

/* A section of columns, that is filled row by row. */
struct columns {
    struct bytes of[PACK_COLUMNS];
    int count;
};

struct pack { /* zeroed: no sections */
    struct {
        char name[5];
        struct bytes bytes;
    } sections[PACK_SECTIONS];
    int count;
    struct bytes strings; /* of the section STRS */
    struct intmap known;  /* place of a text -> its number */
    uint32_t string_count;
};

/* The number of a text, which lives as long as the pack; NULL: 0, the empty one. */
uint32_t pack_string(struct pack *p, const char *text);
/* Sections are taken over: nothing is left in what is given. */
void pack_columns(struct pack *p, const char *name, struct columns *c);
void pack_bytes(struct pack *p, const char *name, struct bytes *b);
/* All sections, deflated; false: zlib could not. */
bool pack_deflate(struct pack *p, struct bytes *out, size_t *raw);
void pack_free(struct pack *p);

#endif
