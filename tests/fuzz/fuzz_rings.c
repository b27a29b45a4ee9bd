/* fuzz_rings - any words as the rings of recorded programs, for they could write anything there: no
 * crash, no endless loop, nothing that asks for memory out of proportion.
 *
 * The input is up to three rings one after the other, each: a byte of flags, a byte that says how
 * near to the ring's end it begins, two bytes for how many words follow, the words. The second ring
 * is of the same process as the first, the third of a child that was forked from it. Behind each
 * ring is a page that must not be touched.
 */
#include "base/memory.h"
#include "collect/absorb.h"
#include "replay.h"

#include <string.h>
#include <sys/mman.h>

#define RINGS 3
#define RING_BYTES (RING_WORDS * 8ull)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t *guarded_ring(void)
{
    char *p = mmap(NULL, RING_BYTES + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                   0);

    if (p == MAP_FAILED || mprotect(p + RING_BYTES, 4096, PROT_NONE) != 0)
        abort();
    return (uint64_t *)p;
}

/* The words of one ring; how many bytes of the input they took. */
static size_t fill(struct absorb_ring *r, const uint8_t *data, size_t size)
{
    size_t at, words, most;

    if (size < 4)
        return size;
    at = data[0] & 1 ? RING_WORDS - 1 - data[1] : 0;
    most = RING_WORDS - at;
    words = (size_t)(data[2] | data[3] << 8);
    if (words > (size - 4) / 8)
        words = (size - 4) / 8;
    if (words > most)
        words = most;
    memcpy(r->words + at, data + 4, words * 8);
    r->at = at;
    return 4 + words * 8;
}

static void read_all(struct absorb *a, struct absorb_ring *rings, int from, int to)
{
    for (uint64_t until = 0;; until = UINT64_MAX) {
        for (int i = from; i < to; i++)
            while (absorb_ring(a, &rings[i], until))
                ;
        absorb_tick_end(a, &rings[from]);
        if (until)
            return;
    }
}

/* Without an engine nobody looks at the memory that is used: do so here. */
static void demand_little(const struct absorb_process *p, size_t size)
{
    if (p->blocks.mask > 256 + size || p->stacks.module_room > 64 + size ||
        p->infos.room > 256 + size || p->regions.room > 64 + size ||
        p->contexts.made_room > 64 + size || p->infos.within_room > 64 + size ||
        p->text_bytes > 64 * size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint64_t *words[RINGS];
    struct absorb_process processes[2] = {{.number = 1}, {.number = 2}};
    struct absorb_ring rings[RINGS] = {{0}};
    struct absorb a = {0};
    size_t used = 0;
    struct trace_store *store = trace_store_create("/dev/null", &(struct err){0});

    a.store = store;
    a.silent = size % 2;
    a.now_ns = size % 3 ? 0 : 1000000; /* else no time is too late */
    for (int i = 0; i < 2; i++)
        processes[i].file = memory_zeroed(1);
    processes[0].threaded = true;
    processes[1].stacks.parent = &processes[0].stacks;
    processes[1].contexts.parent = &processes[0].contexts;
    for (int i = 0; i < 2; i++)
        processes[i].contexts.process = processes[i].number;
    for (int i = 0; i < RINGS; i++) {
        if (!words[i])
            words[i] = guarded_ring();
        rings[i].words = words[i];
        rings[i].process = &processes[i == 2];
        used += fill(&rings[i], data + used, size - used);
    }
    read_all(&a, rings, 0, 2);
    read_all(&a, rings, 2, 3);
    for (int i = 0; i < 2; i++) {
        demand_little(&processes[i], size);
        absorb_process_free(&a, &processes[i]);
    }
    for (int i = 0; i < 2; i++)
        stackmap_process_free(&processes[i].stacks);
    stackmap_free(&a.stackmap);
    intmap_free(&a.spaces.spaces);
    trace_store_close(store, &(struct err){0});
    for (int i = 0; i < RINGS; i++) {
        regions_free(&rings[i].regions);
        madvise(words[i], RING_BYTES, MADV_DONTNEED);
    }
    return 0;
}
