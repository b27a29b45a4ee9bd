/* page_sections - the sections of columns, and all of them together; see docs/PAGE.md. */
#include "page/page.h"

#include "base/memory.h"

#include <stdlib.h>

struct placed { /* frames, each once */
    struct columns columns;
    uint32_t *places; /* by frame of the trie: 1 + its place */
    uint32_t count;
};

static uint32_t place_frame(const struct page *p, struct pack *to, struct placed *d, uint32_t frame)
{
    const struct trie_frame *f = &p->trie.list[frame];

    if (!d->places[frame]) {
        d->places[frame] = ++d->count;
        bytes_varint(&d->columns.of[0], pack_string(to, f->function));
        bytes_varint(&d->columns.of[1], pack_string(to, f->file));
        bytes_varint(&d->columns.of[2], f->line);
        bytes_varint(&d->columns.of[3], pack_string(to, f->module));
        bytes_varint(&d->columns.of[4], f->kind);
    }
    return d->places[frame];
}

/* Whose they are is told by places of frames: by nodes first, and of what was folded by leaves. */
static uint32_t *pack_frames(const struct page *p, struct pack *to)
{
    struct placed frames = {.columns = {.count = 5}};
    struct columns nodes = {.count = 2};
    const struct leaves *l = &p->shown;
    uint32_t *depths = memory_zeroed((l->node_count + 1) * sizeof(*depths));

    frames.places = memory_zeroed((p->trie.frame_count + 1) * sizeof(*frames.places));

    for (size_t i = 0; i < l->node_count; i++) {
        depths[i] = i ? depths[l->nodes[i].up] + 1 : 0;
        bytes_varint(&nodes.of[0], i ? depths[i - 1] + 1 - depths[i] : 0);
        bytes_varint(&nodes.of[1], i ? place_frame(p, to, &frames, l->nodes[i].frame) : 0);
    }
    for (size_t i = 0; i < l->count; i++)
        if (l->list[i].site)
            place_frame(p, to, &frames, l->list[i].site);
    free(depths);
    pack_columns(to, "FRMS", &frames.columns);
    pack_columns(to, "NODE", &nodes);
    return frames.places;
}

static void pack_lines(const struct page *p, struct pack *to)
{
    struct columns c = {.count = 3};

    for (uint32_t i = 0; i <= p->line_count; i++) {
        uint32_t line = p->line_list[i];
        const struct blame *b = &p->lines->blame;
        bool real = i && line >= SCOPE_KINDS;
        const char *file = real ? b->files[b->lines[line].file].path
                         : i    ? line_sums_kind(p->lines, &p->recorded->arena, line)
                                : NULL;

        bytes_varint(&c.of[0], pack_string(to, file));
        bytes_varint(&c.of[1], real ? b->lines[line].line : 0);
        bytes_varint(&c.of[2], real && b->files[b->lines[line].file].python);
    }
    pack_columns(to, "LINE", &c);
}

/* The size that all blocks of a leaf have; 0: they differ. `unit`: of a block in counts. */
static uint64_t one_size(const struct heap_entry *e, size_t count, int unit)
{
    __int128 size = count && e->count > 0 ? (__int128)e->bytes * unit / e->count : 0;

    for (size_t i = 0; i < count && size; i++)
        if (e[i].count * size != (__int128)e[i].bytes * unit)
            return 0;
    return (uint64_t)size;
}

static uint64_t life_of(const struct heap_entry *e)
{
    unsigned int death = HEAP_ENTRY_DEATH(e->death);

    if (death == HEAP_ENTRY_ALIVE)
        return 0;
    death = death > e->birth ? death : e->birth;
    return 1 + 2 * (uint64_t)(death - e->birth) + (e->death & HEAP_ENTRY_WITH_IT ? 1 : 0);
}

static void pack_heap(const struct page *p, struct pack *to, const uint32_t *frames)
{
    const struct entries *e = &p->shown.of[MEASURE_HEAP];
    struct columns leaves = {.count = 7}, heap = {.count = 4};
    uint32_t node = 0;
    size_t at = 0;

    for (size_t i = 0; i < p->shown.count; i++) {
        const struct leaf *l = &p->shown.list[i];
        size_t first = at;
        uint64_t size, birth = 0;

        while (at < e->count && e->list[at].owner == i)
            at++;
        size = one_size(e->list + first, at - first, p->recorded->heap.sampled ? 1000 : 1);
        bytes_varint(&leaves.of[0], l->node - node);
        bytes_varint(&leaves.of[1], l->thread);
        bytes_varint(&leaves.of[2], l->line);
        bytes_varint(&leaves.of[3], at - first);
        bytes_varint(&leaves.of[4], size);
        bytes_varint(&leaves.of[5], l->labels);
        bytes_varint(&leaves.of[6], l->site ? frames[l->site] : 0);
        node = l->node;
        for (size_t k = first; k < at; k++) {
            bytes_varint(&heap.of[0], e->list[k].birth - birth);
            bytes_varint(&heap.of[1], life_of(&e->list[k]));
            bytes_varint(&heap.of[2], (uint64_t)e->list[k].count);
            if (!size)
                bytes_varint(&heap.of[3], (uint64_t)e->list[k].bytes);
            birth = e->list[k].birth;
        }
    }
    pack_columns(to, "LEAF", &leaves);
    pack_columns(to, "HEAP", &heap);
}

static void pack_measure(const struct page *p, struct pack *to, const char *name, enum measure m)
{
    const struct entries *e = &p->shown.of[m];
    bool time = m == MEASURE_CPU || m == MEASURE_WAITS;
    struct columns c = {.count = 4};
    uint32_t leaf = 0;

    for (size_t i = 0; i < e->count; i++) {
        bytes_varint(&c.of[0], e->list[i].owner - leaf);
        bytes_varint(&c.of[1], e->list[i].birth);
        bytes_varint(&c.of[2], m == MEASURE_MAPS ? life_of(&e->list[i])
                               : time            ? e->list[i].death
                                                 : (uint64_t)e->list[i].count);
        bytes_varint(&c.of[3],
                     time ? ((uint64_t)e->list[i].bytes + 500) / 1000 : (uint64_t)e->list[i].bytes);
        leaf = e->list[i].owner;
    }
    pack_columns(to, name, &c);
}

bool page_write(struct page *p, const struct page_words *w, struct bytes *out)
{
    struct pack pack = {0};
    uint32_t *frames;
    bool good;

    page_meta(p, w, &pack);
    frames = pack_frames(p, &pack);
    pack_lines(p, &pack);
    pack_heap(p, &pack, frames);
    free(frames);
    pack_measure(p, &pack, "MAPS", MEASURE_MAPS);
    pack_measure(p, &pack, "CPUS", MEASURE_CPU);
    pack_measure(p, &pack, "WAIT", MEASURE_WAITS);
    pack_measure(p, &pack, "COPY", MEASURE_COPIES);
    page_source(p, w, &pack);
    out->count = 0;
    good = pack_deflate(&pack, out, &p->raw_bytes);
    pack_free(&pack);
    return good;
}
