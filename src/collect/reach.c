/* reach - see reach.h. What is read is another process's memory: it may be gone, or be anything. */
#include "collect/reach.h"

#include "arch/arch.h"
#include "base/intmap.h"
#include "base/memory.h"
#include "base/search.h"
#include "collect/reach_maps.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define WINDOW 65536u
#define WINDOWS 512u
#define TURNS 1024u

struct found { /* a live block */
    uint64_t start, bytes;
    uint32_t info;
    bool reached;
};

struct look {
    struct collect *collect;
    struct member *member;
    unsigned int turns;   /* pieces that were read */
    struct found *blocks; /* by address */
    size_t count, room;
    size_t *todo; /* places of blocks that are reached and not yet looked into */
    size_t todo_count;
    struct intmap places;
    uint64_t lowest, highest; /* that may point to one */
    struct window {
        uint64_t at; /* + 1 */
        uint64_t words[WINDOW / 8];
    } windows[WINDOWS];
};

static int by_start(const void *left, const void *right)
{
    const struct found *l = left, *r = right;

    return l->start < r->start ? -1 : l->start > r->start;
}

static void add_group(struct look *l, const struct absorb_process *p, const struct blocks_group *g)
{
    for (uint32_t i = 0; i < g->entries; i++) {
        const struct block *b = &g->slots[i];

        if (!b->info || b->info == BLOCK_DEAD || b->info == ABSORB_SAMPLED)
            continue;
        memory_fit(l->blocks, l->room, l->count + 1);
        l->blocks[l->count++] = (struct found){(uint64_t)g->number << 16 | b->offset,
                                               p->infos.bytes[b->info], b->info, false};
    }
}

static void list_blocks(struct look *l, const struct absorb_process *p)
{
    for (uint32_t i = 0; p->blocks.groups && i <= p->blocks.mask; i++)
        if (p->blocks.groups[i].slots)
            add_group(l, p, &p->blocks.groups[i]);
    memory_sort(l->blocks, l->count, sizeof(*l->blocks), by_start);
    l->todo = memory_zeroed((l->count + 1) * sizeof(*l->todo));
    l->lowest = l->count ? l->blocks[0].start : UINT64_MAX;
    l->highest = l->count ? l->blocks[l->count - 1].start + l->blocks[l->count - 1].bytes : 0;
}

/* Which blocks are in each window of addresses: their places, the first << 32 | behind the last. */
static void index_blocks(struct look *l)
{
    for (size_t i = 0; i < l->count; i++) {
        const struct found *b = &l->blocks[i];
        uint64_t last = (b->start + (b->bytes ? b->bytes - 1 : 0)) / WINDOW;

        for (uint64_t w = b->start / WINDOW; w <= last; w++) {
            uint64_t known = (uint64_t)i << 32;

            intmap_get(&l->places, w + 1, &known);
            intmap_put(&l->places, w + 1, (known & ~(uint64_t)UINT32_MAX) | (i + 1));
        }
    }
}

/* A block of no bytes is pointed to by its start. */
static void take_word(struct look *l, uint64_t word)
{
    uint64_t places = 0;
    size_t low, high, before;
    struct found *b;

    if (word < l->lowest || word > l->highest ||
        !intmap_get(&l->places, word / WINDOW + 1, &places))
        return;
    before = low = places >> 32;
    high = places & UINT32_MAX;
    SEARCH(low, high, i, l->blocks[i].start <= word);
    if (low == before)
        return;
    b = &l->blocks[low - 1];
    if (b->reached || (word - b->start >= b->bytes && word != b->start))
        return;
    b->reached = true;
    l->todo[l->todo_count++] = low - 1;
}

/* Pages that cannot be read hold nothing. */
static void read_window(struct look *l, struct window *w, uint64_t at)
{
    memset(w->words, 0, sizeof(w->words));
    w->at = at + 1;
    for (size_t done = 0; done < WINDOW;) {
        struct iovec mine = {(char *)w->words + done, WINDOW - done};
        struct iovec theirs = {(void *)(at + done), WINDOW - done};
        ssize_t got = process_vm_readv((pid_t)l->member->process.pid, &mine, 1, &theirs, 1, 0);

        done = ((done + (got > 0 ? (size_t)got : 0)) | (ARCH_PAGE_LEAST - 1)) + 1;
    }
    if (!(l->turns++ % TURNS))
        rings_tick(&l->collect->rings); /* who waits for us sees that we live */
}

/* Blocks are small and many: memory is read by windows, of which the latest are kept. */
static const uint64_t *window_at(struct look *l, uint64_t at)
{
    struct window *w = &l->windows[at / WINDOW % WINDOWS];

    at = at / WINDOW * WINDOW;
    if (w->at != at + 1)
        read_window(l, w, at);
    return w->words;
}

static void scan(struct look *l, uint64_t from, uint64_t to)
{
    from = (from + 7) & ~7ull;
    while (from + 8 <= to) {
        const uint64_t *words = window_at(l, from);
        uint64_t end = (from | (WINDOW - 1)) + 1;

        end = end < (to & ~7ull) ? end : to & ~7ull;
        for (; from < end; from += 8)
            take_word(l, words[from % WINDOW / 8]);
    }
}

/* Around the blocks, where they are among memory that may be in use without our knowing. */
static void scan_gaps(struct look *l, uint64_t from, uint64_t to)
{
    size_t low = 0;

    /* The first that ends behind `from`. */
    SEARCH(low, l->count, i, l->blocks[i].start + l->blocks[i].bytes <= from);
    for (; low < l->count && l->blocks[low].start < to; low++) {
        if (l->blocks[low].start > from)
            scan(l, from, l->blocks[low].start);
        from = l->blocks[low].start + l->blocks[low].bytes;
    }
    if (from < to)
        scan(l, from, to);
}

static void scan_root(void *context, uint64_t from, uint64_t to)
{
    struct look *l = context;

    if (l->collect->launched)
        scan(l, from, to);
    else
        scan_gaps(l, from, to);
}

static void scan_registers(struct look *l, const struct collect_still *still)
{
    for (size_t i = 0; still && i < still->word_count; i++)
        take_word(l, still->words[i]);
}

static void follow(struct look *l)
{
    while (l->todo_count) {
        const struct found *b = &l->blocks[l->todo[--l->todo_count]];

        scan(l, b->start, b->start + b->bytes);
    }
}

static void put_unreached(struct collect *c, const struct look *l)
{
    struct absorb_process *p = &l->member->process;
    uint64_t *counts = memory_zeroed((p->infos.count + 2) * sizeof(*counts));

    for (size_t i = 0; i < l->count; i++) {
        counts[l->blocks[i].info] += !l->blocks[i].reached;
        counts[0] += !l->blocks[i].reached;
    }
    for (uint32_t i = 0; i <= p->infos.count; i++) {
        struct trace_unreached fields = {p->number, i, counts[i]};

        if (counts[i] || !i)
            trace_store_put(c->absorb.store, TRACE_UNREACHED, p->reach.time_ns,
                            (const uint64_t *)&fields, 3, NULL, 0);
    }
    free(counts);
}

/* False: its memory could not be read. */
static bool look_at(struct collect *c, struct member *m)
{
    struct absorb_process *p = &m->process;
    struct look *l = memory_zeroed(sizeof(*l));
    bool seen;

    l->member = m;
    l->collect = c;
    absorb_flush(&c->absorb, p);
    infos_flush(&p->infos, p->number, c->absorb.store);
    list_blocks(l, p);
    index_blocks(l);
    scan_registers(l, p->reach.still);
    seen = reach_roots(c, m, scan_root, l);
    if (seen) {
        follow(l);
        put_unreached(c, l);
    }
    intmap_free(&l->places);
    free(l->blocks);
    free(l->todo);
    free(l);
    return seen;
}

bool reach_still(struct collect *c, struct member *m, const struct collect_still *still,
                 uint64_t time_ns)
{
    struct absorb_reach kept = m->process.reach;
    bool seen;

    m->process.reach = (struct absorb_reach){.time_ns = time_ns, .still = still};
    seen = c->absorb.store && look_at(c, m);
    m->process.reach = kept;
    return seen;
}

void reach_look(struct collect *c, struct member *m)
{
    struct absorb_process *p = &m->process;

    if (!p->reach.wanted)
        return;
    p->reach.wanted = false;
    if (c->absorb.store)
        look_at(c, m);
    atomic_store(&c->rings.slots[p->reach.slot].answered, 1);
}
