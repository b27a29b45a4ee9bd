/* functions - see functions.h. The table is what the linker writes, sorted pairs of numbers of 32
 * bits; of any other kind none is read.
 */
#include "namer/functions.h"

#include <dwarf.h>
#include <gelf.h>
#include <string.h>

#define HEAD_BYTES 12 /* version, three encodings, place of .eh_frame, count */
#define PAIR_BYTES 8
#define STARTS_MOST 500000 /* 20 MB of spans */

/* Encodings of a pointer, as the LSB names them. */
enum { OF_4_BYTES = 0x03, SIGNED_OF_4_BYTES = 0x0b, FROM_PLACE = 0x10, FROM_TABLE = 0x30 };

static int32_t number_at(const unsigned char *at)
{
    int32_t number;

    memcpy(&number, at, sizeof(number));
    return number;
}

/* How many pairs there are behind the head; 0: none that can be read. */
static size_t pairs_of(const Elf_Data *data)
{
    const unsigned char *head = data->d_buf;
    uint32_t count;

    if (data->d_size < HEAD_BYTES || head[0] != 1 || head[1] != (FROM_PLACE | SIGNED_OF_4_BYTES) ||
        head[2] != OF_4_BYTES || head[3] != (FROM_TABLE | SIGNED_OF_4_BYTES))
        return 0;
    memcpy(&count, head + 8, sizeof(count));
    if (count > STARTS_MOST || count > (data->d_size - HEAD_BYTES) / PAIR_BYTES)
        return 0;
    return count;
}

void functions_read(struct spans *spans, struct arena *arena, struct image *code)
{
    uint64_t place;
    Elf_Data *data = code->elf ? image_section_at(code, ".eh_frame_hdr", &place) : NULL;
    size_t count = data ? pairs_of(data) : 0;
    struct spans found = {0};
    uint32_t what;

    for (size_t i = 0; i < count; i++) {
        const unsigned char *pair = (unsigned char *)data->d_buf + HEAD_BYTES + i * PAIR_BYTES;
        struct span one = {.low = place + (uint64_t)(int64_t)number_at(pair), .what = SPANS_START};

        one.high = one.low;
        if (!spans_find(spans, one.low, &what))
            spans_add(&found, arena, one);
    }
    for (size_t i = 0; i < found.count; i++)
        spans_add(spans, arena, found.list[i]);
    spans_sort(spans);
}
