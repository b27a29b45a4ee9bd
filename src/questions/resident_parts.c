/* resident_parts - see resident_parts.h.
 *
 * Of large blocks and of mappings the pages were looked at, as a rule: see resident_sites.h.
 * Smaller blocks lie together on their pages. They are taken as resident, as far as the memory
 * reaches that they can be in; where it does not, each site has the same share of it.
 */
#include "questions/resident_parts.h"

#include "base/count.h"
#include "base/memory.h"
#include "model/covered.h"
#include "model/heap_rows.h"
#include "questions/heap_cells.h"
#include "questions/resident_sites.h"

#define SITES 10 /* unless others are asked for */

enum { PART_DEPTH, PART_PART, PART_RESIDENT, PART_ASKED_FOR, PART_KIND, PART_HOW, PART_STACK };

static const struct table_column columns[] = {
    [PART_DEPTH] = {"depth", UNIT_DEPTH},
    [PART_PART] = {"part", UNIT_TEXT},
    [PART_RESIDENT] = {"resident", UNIT_BYTES},
    [PART_ASKED_FOR] = {"asked_for", UNIT_BYTES},
    [PART_KIND] = {"kind", UNIT_TEXT, .detail = true},
    [PART_HOW] = {"how", UNIT_TEXT},
    [PART_STACK] = {"stack", UNIT_STACK},
};

struct parts {
    struct answer *answer;
    struct table *table;
    struct heap *heap;
    const struct resident_moment *moment;
    struct resident_sites sites;
    uint64_t left;    /* of the rss: what no part has yet */
    const char *kind; /* of the parts that come */
};

static struct table_cell *put_part(struct parts *p, uint64_t depth, const char *name,
                                   const char *how)
{
    struct table_cell *c = table_add(p->answer, p->table);

    cell_number(&c[PART_DEPTH], depth);
    cell_text(&c[PART_PART], name);
    cell_text(&c[PART_KIND], p->kind);
    cell_text(&c[PART_HOW], how);
    return c;
}

/* A part of the rss itself takes no more than what is left of it. */
static uint64_t take(struct parts *p, uint64_t bytes)
{
    uint64_t taken = bytes < p->left ? bytes : p->left;

    p->left -= taken;
    return taken;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- one kind of memory, by site ---- */

struct of_kind { /* of the heap, or of what is mapped */
    enum trace_memory memory;
    heap_weight *weight;
    uint64_t live;     /* what was asked for */
    uint64_t looked;   /* of that, by page */
    uint64_t resident; /* of what was looked at */
    uint64_t small;    /* resident of the others */
};

static uint64_t of_heap(const struct heap_stack_sum *s)
{
    return less(s->at.bytes, s->at_mapped + s->at_shared);
}

static uint64_t of_mapped(const struct heap_stack_sum *s)
{
    return s->at_mapped;
}

static uint64_t of_shared(const struct heap_stack_sum *s)
{
    return s->at_shared;
}

/* What was looked at of a site, or of all; of a reservation what is resident is what counts. */
static struct resident_site looked_at(const struct parts *p, const struct table_frame *site,
                                      enum trace_memory memory)
{
    struct resident_site s = site ? resident_sites_find(&p->sites, site, memory)
                                  : p->sites.sums[memory],
                         r = {0};

    if (memory == TRACE_MEMORY_MAPPED)
        r = site ? resident_sites_find(&p->sites, site, TRACE_MEMORY_RESERVED)
                 : p->sites.sums[TRACE_MEMORY_RESERVED];
    s.bytes += r.resident;
    s.resident += r.resident;
    return s;
}

/* Where not all of it can be resident, each has the same share of what is. */
static uint64_t share(const struct of_kind *k, uint64_t bytes)
{
    uint64_t all = less(k->live, k->looked);

    return all > k->small ? (uint64_t)((__uint128_t)bytes * k->small / all) : bytes;
}

static const char *how_known(const struct parts *p, enum trace_memory memory, uint64_t looked,
                             uint64_t asked)
{
    const struct heap *h = p->heap;
    bool sampled = h->sampled && memory == TRACE_MEMORY_HEAP;

    if (looked && looked >= asked)
        return "by page";
    if (looked)
        return "by page where blocks are large, the others in proportion to size";
    return heap_lacking(h, sampled ? "sampled: an estimate, in proportion to size"
                                   : "exact size, resident in proportion");
}

/* The last of them has what rounding leaves, so that they add up. */
static void put_sites(struct parts *p, const struct of_kind *k)
{
    const struct heap_row *row, *next;
    struct heap_rows rows;
    uint64_t left = k->resident + k->small;

    heap_rows_sites(&rows, p->heap, k->weight, SITES);
    row = heap_rows_at(&rows, 0);
    for (size_t i = 1; row; row = next, i++) {
        struct resident_site looked = {0};
        uint64_t asked = k->weight(&row->sum), part;
        struct table_cell *c;

        if (row != &rows.rest)
            looked = looked_at(p, &row->site, k->memory);
        part = least(looked.resident + share(k, less(asked, looked.bytes)), left);
        c = put_part(p, 1, NULL, how_known(p, k->memory, looked.bytes, asked));
        next = heap_rows_at(&rows, i);
        heap_cell_site(&c[PART_PART], p->heap, &rows, row);
        cell_number(&c[PART_RESIDENT], next ? part : left);
        cell_number(&c[PART_ASKED_FOR], asked);
        heap_cell_stack(&c[PART_STACK], p->heap, row);
        left -= part;
    }
}

static struct of_kind kind_of(const struct parts *p, enum trace_memory memory, heap_weight *weight,
                              uint64_t most)
{
    struct resident_site looked = looked_at(p, NULL, memory);
    uint64_t live = p->heap->at_memory[memory].bytes;
    struct of_kind k = {
        memory, weight, live, least(looked.bytes, live), least(looked.resident, least(live, most)),
        0};

    k.small = least(less(live, k.looked), less(most, k.resident));
    return k;
}

static const char *how_in_all(const struct of_kind *k)
{
    if (k->looked)
        return "by page where blocks are large; smaller ones are taken as resident";
    return k->small < k->live ? "derived: a bound, some of it is not resident"
                              : "derived: taken as resident";
}

/* What of the memory that it can be in is taken by it. */
static uint64_t put_kind(struct parts *p, const char *name, const struct of_kind *k)
{
    struct table_cell *c = put_part(p, 0, name, how_in_all(k));
    uint64_t resident = take(p, k->resident + k->small);

    cell_number(&c[PART_RESIDENT], resident);
    cell_number(&c[PART_ASKED_FOR], k->live);
    put_sites(p, k);
    return resident;
}

/* Where private blocks and mappings can be. */
static uint64_t private_most(const struct resident_sample *s)
{
    if (s->looked_into)
        return s->places[RESIDENT_AT_HEAP] + s->places[RESIDENT_AT_ANON];
    return s->known[RESIDENT_ANONYMOUS] ? s->kinds[RESIDENT_ANONYMOUS] : s->rss;
}

/* What the pages of mappings have is not the heap's. */
static uint64_t put_private(struct parts *p)
{
    uint64_t most = private_most(p->moment->sample), taken;
    struct of_kind mapped = kind_of(p, TRACE_MEMORY_MAPPED, of_mapped, most);
    struct of_kind heap = kind_of(p, TRACE_MEMORY_HEAP, of_heap, less(most, mapped.resident));

    mapped.small = least(mapped.small, less(most, mapped.resident + heap.resident + heap.small));
    p->kind = "heap";
    taken = put_kind(p, "live heap", &heap);
    p->kind = "mapped";
    if (mapped.live)
        taken += put_kind(p, "anonymous mappings of the program", &mapped);
    p->kind = NULL;
    return taken;
}

/* ---- files and shared memory: what the program itself has mapped of them ---- */

static void put_file_sites(struct parts *p)
{
    uint64_t count = 0;

    for (size_t i = 0; i < p->sites.count && count < SITES; i++) {
        const struct resident_site *s = &p->sites.list[i];
        struct table_cell *c;

        if (s->memory != TRACE_MEMORY_FILE)
            continue;
        count++;
        c = put_part(p, 1, table_frame_text(p->answer->arena, &s->site), "by page");
        cell_number(&c[PART_RESIDENT], s->resident);
        cell_number(&c[PART_ASKED_FOR], s->bytes);
        cell_stack(&c[PART_STACK], frames_shared(p->heap->frames, s->stack));
    }
}

static void put_files(struct parts *p, uint64_t resident, bool known)
{
    uint64_t mapped = p->moment->mapped->bytes[TRACE_MMAP_FILE];
    struct table_cell *c;

    p->kind = "file";
    c = put_part(p, 0, "mapped files", known ? "sampled" : "not measured: in the rest");
    if (known)
        cell_number(&c[PART_RESIDENT], take(p, resident));
    if (mapped)
        cell_number(&c[PART_ASKED_FOR], mapped);
    put_file_sites(p);
    p->kind = NULL;
}

static void put_shared(struct parts *p, uint64_t resident, bool known)
{
    const struct heap *h = p->heap;
    struct of_kind k = {TRACE_MEMORY_SHARED, of_shared};
    struct table_cell *c;

    p->kind = "shared";
    c = put_part(p, 0, h->any ? "shared memory, with tidemark's own buffers" : "shared memory",
                 known ? "sampled" : "not measured: in the rest");
    if (known)
        cell_number(&c[PART_RESIDENT], take(p, resident));
    if (h->any && h->at_memory[TRACE_MEMORY_SHARED].bytes) {
        cell_number(&c[PART_ASKED_FOR], h->at_memory[TRACE_MEMORY_SHARED].bytes);
        k = kind_of(p, TRACE_MEMORY_SHARED, of_shared, known ? resident : UINT64_MAX);
        k.small = known ? k.small : 0;
        put_sites(p, &k);
    }
    p->kind = NULL;
}

/* ---- all else ---- */

static const char *name_stacks(const struct parts *p)
{
    const struct resident_sample *s = p->moment->sample;

    if (!s->threads_known)
        return "stacks of threads";
    return arena_printf(p->answer->arena, "stacks of threads: %llu",
                        (unsigned long long)s->threads);
}

/* Of these the size is known alone. */
static void put_sizes(struct parts *p, const char *where)
{
    const struct mappings *m = p->moment->mapped;
    uint64_t reserved = m->bytes[TRACE_MMAP_RESERVED] + m->closed_bytes;

    if (m->bytes[TRACE_MMAP_ARENA])
        cell_number(&put_part(p, 0, "arenas of the program's own allocators",
                              arena_printf(p->answer->arena,
                                           "exact size; their blocks are in the live heap, what is "
                                           "free in %s",
                                           where))[PART_ASKED_FOR],
                    m->bytes[TRACE_MMAP_ARENA]);
    if (reserved)
        cell_number(&put_part(p, 0, "addresses that are reserved",
                              "exact size; what is resident of them is in the mappings "
                              "above")[PART_ASKED_FOR],
                    reserved);
}

static void put_place(struct parts *p, uint64_t bytes, const char *name, const char *how)
{
    cell_number(&put_part(p, 0, name, how)[PART_RESIDENT], take(p, bytes));
}

/* Malloc's areas beyond [heap] and what the program maps itself look the same from outside. */
static void put_slack(struct parts *p, uint64_t bytes)
{
    const struct heap *h = p->heap;
    const char *name = "allocator slack";
    const char *how = h->sampled
                        ? "derived: what malloc holds less the live heap, an estimate; with "
                          "tidemark's tables"
                        : "derived: what malloc holds less the live heap; with tidemark's tables";

    if (h->any && covered_since(h->run)) {
        name = "from before the attach, and allocator slack";
        how = "derived: all anonymous memory less what was seen to be allocated";
    } else if (!h->any) {
        name = "heap and anonymous mappings";
        how = "sampled";
    }
    put_place(p, bytes, name, how);
}

static void put_places(struct parts *p, uint64_t taken)
{
    const struct resident_sample *s = p->moment->sample;

    put_slack(p, less(private_most(s), taken));
    put_sizes(p, "the line above");
    put_place(p, s->places[RESIDENT_AT_STACK], name_stacks(p), "sampled, by page");
    put_place(p, s->places[RESIDENT_AT_DATA], "data of programs and libraries", "sampled");
    put_files(p, s->places[RESIDENT_AT_FILE], true);
    put_shared(p, s->places[RESIDENT_AT_SHARED], true);
}

static void put_kinds(struct parts *p)
{
    const struct resident_sample *s = p->moment->sample;
    const struct heap *h = p->heap;

    put_files(p, s->kinds[RESIDENT_FILES], s->known[RESIDENT_FILES]);
    put_shared(p, s->kinds[RESIDENT_SHARED], s->known[RESIDENT_SHARED]);
    put_sizes(p, "the rest");
    put_part(p, 0, name_stacks(p), "not measured: in the rest");
    put_place(p, p->left,
              !h->any ? "the rest: heap, stacks, data"
              : covered_since(h->run)
                  ? "the rest: from before the attach, allocator slack, stacks, data"
                  : "the rest: allocator slack, stacks, data",
              "derived: what remains");
}

void resident_parts(struct answer *a, struct heap *h, const struct resident_moment *m)
{
    struct parts p = {.answer = a, .heap = h, .moment = m, .left = m->sample->rss};
    uint64_t taken = 0;

    p.table = answer_add(a, "parts", TABLE_ROWS, columns, COUNT(columns));
    if (h->any) {
        heap_at(h, HEAP_AT_TIME, m->sample->time_ns);
        resident_sites_read(&p.sites, h->frames, m->looks);
        taken = put_private(&p);
    }
    if (m->sample->looked_into)
        put_places(&p, taken);
    else
        put_kinds(&p);
    p.table->note =
        "The parts without indentation add up to rss; asked_for also counts what is not "
        "resident.";
    resident_sites_free(&p.sites);
}
