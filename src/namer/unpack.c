/* unpack - see unpack.h: xz alone, as in .gnu_debugdata. What it may unpack to is bounded. */
#include "namer/unpack.h"

#include "base/memory.h"

#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>

#define UNPACKED_MOST (256u << 20)
#define MEMORY_MOST (256u << 20)
#define STEP 65536u

/* Goes on until the stream ends; grows the room by doubling. */
static bool decode(lzma_stream *xz, unsigned char **bytes)
{
    size_t room = 0;
    lzma_ret ret = LZMA_OK;

    while (ret == LZMA_OK && room < UNPACKED_MOST) {
        memory_fit(*bytes, room, room + STEP);
        xz->next_out = *bytes + xz->total_out;
        xz->avail_out = room - (size_t)xz->total_out;
        ret = lzma_code(xz, LZMA_FINISH);
    }
    return ret == LZMA_STREAM_END;
}

void *unpack_xz(const void *packed, size_t packed_size, size_t *size)
{
    lzma_stream xz = LZMA_STREAM_INIT;
    unsigned char *bytes = NULL;
    bool good;

    if (lzma_stream_decoder(&xz, MEMORY_MOST, 0) != LZMA_OK)
        return NULL;
    xz.next_in = packed;
    xz.avail_in = packed_size;
    good = decode(&xz, &bytes);
    *size = (size_t)xz.total_out;
    lzma_end(&xz);
    if (good)
        return bytes;
    free(bytes);
    return NULL;
}
