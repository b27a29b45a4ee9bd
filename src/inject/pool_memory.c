/* pool_memory - see pool_memory.h. */
#include "inject/pool_memory.h"

#include "inject/lookup.h"
#include "inject/ranges.h"
#include "inject/space_tell.h"
#include "inject/sys.h"

#include <string.h>

enum { HEAP, REGION };                       /* classes of handles */
enum { CALL_HEAP, CALL_REGION, CALL_COUNT }; /* what is said to have done it */

#define NAME_MOST 64
#define FIRST_VENDOR 16u /* numbers of sources, above those of vendors */

static const char *const calls[POOL_SOURCES][CALL_COUNT] = {
    [POOL_NVTX] = {"nvtxMemHeapRegister", "nvtxMemRegionsRegister"},
    [POOL_MSTX] = {"mstxMemHeapRegister", "mstxMemRegionsRegister"},
};

static struct lookup heaps[POOL_SOURCES];   /* -> the name of its pool; 0: it is none */
static struct lookup starts[POOL_SOURCES];  /* heap -> where it begins, by which it is told */
static struct lookup regions[POOL_SOURCES]; /* address -> its heap */

/* ---- names ---- */

static size_t append(char *to, size_t at, const char *text, size_t most)
{
    size_t bytes = strnlen(text, most);

    memcpy(to + at, text, bytes);
    return at + bytes;
}

/* "NAME", or "NAME:0" of a pool on device 0. */
static const char *pool_name(enum pool_source s, const char *name, uint32_t device)
{
    static const char *const nameless[POOL_SOURCES] = {"nvtx", "mstx"};
    char text[NAME_MOST + 1 + SYS_DIGITS], number[SYS_DIGITS];
    const struct ranges_name *kept;
    size_t at = append(text, 0, name && *name ? name : nameless[s], NAME_MOST);

    if (device != POOL_NO_DEVICE) {
        sys_number(number, (int)(device & INT32_MAX));
        at = append(text, at, ":", 1);
        at = append(text, at, number, SYS_DIGITS);
    }
    text[at] = '\0';
    kept = ranges_name(text);
    return kept ? kept->text : nameless[s];
}

static const char *name_of_heap(enum pool_source s, uint64_t heap, const char *otherwise)
{
    uint64_t value;

    if (heap > 1 && lookup_get(&heaps[s], heap, &value) && value)
        return (const char *)(uintptr_t)value;
    return pool_name(s, otherwise, POOL_NO_DEVICE);
}

/* ---- records ---- */

static unsigned int class_of(enum pool_source s, unsigned int class)
{
    return (FIRST_VENDOR + s) << RING_SPACE_CLASS_BITS | class;
}

struct named {
    const char *prefix, *pool, *call;
};

static size_t put_names(char *to, const void *context, size_t *all)
{
    const struct named *n = context;
    size_t first = append(to, append(to, 0, n->prefix, NAME_MOST), n->pool, NAME_MOST + SYS_DIGITS);

    *all = append(to, first, n->call, NAME_MOST);
    return first;
}

static void tell_fresh(enum pool_source s, unsigned int class, const char *pool, uint64_t handle,
                       uint64_t owner, uint64_t bytes, struct caller c)
{
    const struct named n = {class == HEAP ? "reserved:" : "pool:", pool, calls[s][class]};
    const struct space_told told = {.what = RING_SPACE_ALLOC,
                                    .class = class_of(s, class),
                                    .handle = handle,
                                    .bytes = bytes,
                                    .owner = owner,
                                    .kind = class == HEAP ? RING_SPACE_RESERVED : RING_SPACE_POOL,
                                    .name = put_names,
                                    .context = &n};

    if (handle && bytes)
        space_tell(&told, c);
}

static void tell_end(enum pool_source s, enum ring_space what, unsigned int class, uint64_t handle,
                     uint64_t owner, struct caller c)
{
    const struct space_told told = {
        .what = what, .class = class_of(s, class), .handle = handle, .owner = owner};

    space_tell(&told, c);
}

/* ---- heaps and regions ---- */

void pool_heap(enum pool_source s, uint64_t heap, const char *name, uint32_t device,
               uint64_t address, uint64_t bytes, struct caller c)
{
    const char *pool = pool_name(s, name, device);

    lookup_set(&heaps[s], heap, (uintptr_t)pool);
    lookup_set(&starts[s], heap, address);
    tell_fresh(s, HEAP, pool, address, 0, bytes, c);
}

void pool_heap_other(enum pool_source s, uint64_t heap)
{
    lookup_set(&heaps[s], heap, 0);
}

void pool_heap_reset(enum pool_source s, uint64_t heap, bool gone, struct caller c)
{
    uint64_t value, start;

    if (heap <= 1)
        return;
    tell_end(s, RING_SPACE_GONE, REGION, 0, heap, c);
    if (gone && lookup_remove(&heaps[s], heap, &value) && lookup_remove(&starts[s], heap, &start))
        tell_end(s, RING_SPACE_FREE, HEAP, start, 0, c);
}

void pool_region(enum pool_source s, uint64_t heap, const char *name, uint64_t address,
                 uint64_t bytes, struct caller c)
{
    uint64_t pool;

    if (heap > 1 && lookup_get(&heaps[s], heap, &pool) && !pool)
        return;
    lookup_set(&regions[s], address, heap);
    tell_fresh(s, REGION, name_of_heap(s, heap, name), address, heap, bytes, c);
}

void pool_region_resized(enum pool_source s, uint64_t address, uint64_t bytes, struct caller c)
{
    uint64_t heap;

    if (address > 1 && lookup_get(&regions[s], address, &heap))
        pool_region(s, heap, NULL, address, bytes, c);
}

void pool_region_gone(enum pool_source s, uint64_t address, struct caller c)
{
    uint64_t heap;

    if (address > 1 && lookup_remove(&regions[s], address, &heap))
        tell_end(s, RING_SPACE_FREE, REGION, address, 0, c);
}
