/* fuzz_unwind - memory of a process that holds anything, where its code, its unwind data and its
 * stack should be: nothing is read outside of it, and no walk goes on for ever. And its maps.
 */
#include "cfi/far_walk.h"
#include "collect/native_maps.h"
#include "replay.h"

#include <stdlib.h>
#include <string.h>

#define BASE ((uintptr_t)0x10000)
#define FRAMES 64
#define EACH 61 /* bytes from one address that is asked about to the next */

struct memory {
    const uint8_t *bytes;
    size_t size;
    struct far far;
    struct far_image image;
};

static size_t read_some(void *context, uintptr_t at, void *to, size_t bytes)
{
    const struct memory *m = context;

    if (at < BASE || at - BASE >= m->size)
        return 0;
    if (bytes > m->size - (at - BASE))
        bytes = m->size - (at - BASE);
    memcpy(to, m->bytes + (at - BASE), bytes);
    return bytes;
}

static bool is_code(void *context, uintptr_t at)
{
    const struct memory *m = context;

    return at - BASE < m->size;
}

/* As if every address were behind a call, so that walks go on. */
static struct far_place place_of(void *context, uintptr_t pc)
{
    const struct memory *m = context;
    struct far_place p = {.code = is_code(context, pc), .called = is_code(context, pc)};

    if (m->image.end)
        p.row = far_row_find(&m->far, &m->image, pc - 1);
    return p;
}

static void walk(struct memory *m, uintptr_t pc)
{
    const struct far_code code = {m->far, is_code, place_of, m};
    uint64_t frames[FRAMES];
    bool whole;
    size_t count;

    for (uintptr_t sp = BASE; sp - BASE < m->size; sp += m->size / 64 + 8) {
        count = far_walk(&code, pc, sp & ~(uintptr_t)7, pc & 1, frames, FRAMES, &whole);
        if (!count || count > FRAMES)
            abort();
    }
}

static void read_maps(const uint8_t *data, size_t size)
{
    struct native_maps maps = {0};
    char *text = malloc(size + 1);

    if (!text)
        return;
    memcpy(text, data, size);
    text[size] = '\0';
    native_maps_take(&maps, text, size);
    for (size_t i = 0; i < maps.count; i++)
        if (native_maps_at(&maps, maps.list[i].start) != &maps.list[i])
            abort();
    native_maps_free(&maps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct memory m = {.bytes = data, .size = size};

    m.far = (struct far){read_some, &m};
    read_maps(data, size);
    if (!far_image_read(&m.far, BASE, &m.image))
        m.image = (struct far_image){0};
    for (uintptr_t at = BASE + 1; at - BASE < size && at - BASE < 16384; at += EACH)
        walk(&m, at);
    return 0;
}
