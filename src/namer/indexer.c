/* indexer - see indexer.h. The names can only change where a stretch of anything begins or ends: a
 * unit, a function, what is inlined, a row of a line table, a symbol. So each such place is asked
 * for once, by the same function that answers for single addresses.
 */
#include "namer/indexer.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "namer/inlines.h"
#include "namer/lines.h"
#include "namer/stretches.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ALL_BYTES_MOST (32u << 20) /* of debug information; a second has about 40 MiB */
#define OLD_S 3600
#define WORK_MOST_NS (2ull * CLOCK_SECOND_NS) /* of CPU time, for each of two attempts */
#define LOOK_EVERY 256u
#define SYMBOLS_MOST                                                                               \
    150000u /* and unnamed functions, that are all named: a second has about so many */

struct making {
    struct module *module;
    struct strings *strings;
    bool all, few;     /* few: of a large table of symbols, around what is wanted */
    uint64_t until_ns; /* of our CPU time: files are hostile */
    uint64_t *edges;
    size_t edge_count, edge_room;
    struct index_range *ranges;
    size_t range_count, range_room;
    struct index_node *nodes;
    size_t node_count, node_room;
    char *texts;
    size_t text_bytes, text_room;
    struct intmap by_text; /* from the address of a kept text to its number */
    struct intmap by_node; /* from a hash of it to a node */
    struct resolved_name last[INDEX_DEPTH_MOST];
    int last_count;
    uint32_t last_node;
};

/* ---- where names can change ---- */

static void add_edge(struct making *k, uint64_t address)
{
    memory_fit(k->edges, k->edge_room, k->edge_count + 1);
    k->edges[k->edge_count++] = address;
}

static void add_spans(struct making *k, const struct spans *s)
{
    for (size_t i = 0; i < s->count; i++) {
        add_edge(k, s->list[i].low);
        add_edge(k, s->list[i].high);
    }
}

static void add_scopes(struct making *k, struct function *f)
{
    struct scope *path[INLINES_DEEPEST];

    inlines_at(&k->module->units, f, f->entry, path);
    for (uint32_t i = 0; i < f->scope_count; i++) {
        for (uint32_t r = 0; r < f->scopes[i].range_count; r++) {
            add_edge(k, f->scopes[i].ranges[r].low);
            add_edge(k, f->scopes[i].ranges[r].high);
        }
    }
}

static void add_unit(struct making *k, struct unit *unit)
{
    struct units *u = &k->module->units;

    units_functions(u, unit);
    add_spans(k, &unit->spans);
    for (uint32_t i = 0; i < unit->function_count; i++)
        add_scopes(k, &unit->functions[i]);
    for (size_t i = 0, rows = lines_count(u, unit); i < rows; i++)
        add_edge(k, lines_address(unit, i));
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static bool is_late(const struct making *k)
{
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID) > k->until_ns;
}

static bool find_edges(struct making *k)
{
    struct units *u = &k->module->units;
    size_t kept = 0;

    add_spans(k, &u->spans);
    add_spans(k, &k->module->symbols.spans);
    for (uint32_t i = 0; i < u->count; i++) {
        if (is_late(k))
            return false;
        if (k->all || u->list[i].wanted)
            add_unit(k, &u->list[i]);
    }
    memory_sort(k->edges, k->edge_count, sizeof(*k->edges), by_number);
    for (size_t i = 0; i < k->edge_count; i++) {
        if (!kept || k->edges[i] != k->edges[kept - 1])
            k->edges[kept++] = k->edges[i];
    }
    k->edge_count = kept;
    return true;
}

/* ---- the parts of an index ---- */

static uint32_t add_text(struct making *k, const char *text)
{
    uint32_t length = text ? (uint32_t)strnlen(text, INDEX_TEXT_MOST - 1) : 0;
    uint64_t at = k->text_bytes;

    if (k->text_bytes && (!length || intmap_get(&k->by_text, (uint64_t)(uintptr_t)text, &at)))
        return length ? (uint32_t)at : 0;
    memory_fit(k->texts, k->text_room, k->text_bytes + sizeof(length) + length);
    memcpy(k->texts + at, &length, sizeof(length));
    if (length)
        memcpy(k->texts + at + sizeof(length), text, length);
    k->text_bytes += sizeof(length) + length;
    if (length)
        intmap_put(&k->by_text, (uint64_t)(uintptr_t)text, at);
    return (uint32_t)at;
}

static uint32_t add_node(struct making *k, struct index_node n)
{
    uint64_t key = hash_mix((uint64_t)n.function << 32 | n.file, (uint64_t)n.line << 32 | n.outer);
    uint64_t at;

    for (; k->nodes && intmap_get(&k->by_node, key, &at); key++) {
        if (memcmp(&k->nodes[at], &n, sizeof(n)) == 0)
            return (uint32_t)at;
    }
    memory_fit(k->nodes, k->node_room, k->node_count + 1);
    k->nodes[k->node_count] = n;
    intmap_put(&k->by_node, key, k->node_count);
    return (uint32_t)k->node_count++;
}

/* From the outermost to the innermost. */
static uint32_t add_names(struct making *k, const struct resolved_name *names, int count)
{
    uint32_t node = INDEX_NOTHING;

    while (count-- > 0)
        node = add_node(k, (struct index_node){add_text(k, names[count].function),
                                               add_text(k, names[count].file), names[count].line,
                                               node});
    return node;
}

static bool are_same(const struct resolved_name *a, const struct resolved_name *b, int count)
{
    for (int i = 0; i < count; i++) {
        if (a[i].function != b[i].function || a[i].file != b[i].file || a[i].line != b[i].line)
            return false;
    }
    return true;
}

/* Neighbours are often the same: many rows say nothing new. */
static uint32_t same_or_new(struct making *k, const struct resolved_name *names, int count)
{
    if (count != k->last_count || !are_same(names, k->last, count)) {
        k->last_node = add_names(k, names, count);
        k->last_count = count;
        memcpy(k->last, names, (size_t)count * sizeof(*names));
    }
    return k->last_node;
}

static uint32_t node_at(struct making *k, uint64_t address)
{
    struct resolved_name names[INDEX_DEPTH_MOST];
    struct unit *unit = k->module->units.dwarf ? units_at(&k->module->units, address) : NULL;

    if (unit && !k->all && !unit->wanted)
        return INDEX_UNKNOWN;
    return same_or_new(k, names,
                       module_names(k->module, k->strings, address, names, INDEX_DEPTH_MOST));
}

/* Ranges come in order; the last of several that begin at one place holds. */
static bool add_range(struct making *k, uint64_t from, uint32_t node)
{
    if (from > UINT32_MAX || k->text_bytes > SEALED_BYTES_MOST)
        return false;
    if (k->range_count && k->ranges[k->range_count - 1].low == from)
        k->range_count--;
    if (k->range_count && k->ranges[k->range_count - 1].node == node)
        return true;
    memory_fit(k->ranges, k->range_room, k->range_count + 1);
    k->ranges[k->range_count++] = (struct index_range){(uint32_t)from, node};
    return true;
}

static bool add_ranges(struct making *k)
{
    uint64_t base = k->edge_count ? k->edges[0] : 0;

    for (size_t i = 0; i < k->edge_count; i++) {
        uint32_t node = node_at(k, k->edges[i]);

        if (!add_range(k, k->edges[i] - base, node) || (i % LOOK_EVERY == 0 && is_late(k)))
            return false;
    }
    return true;
}

/* Of a table that is too large: what is wanted, and nothing is known of the rest. */
static bool add_stretches(struct making *k, const struct stretch *list, size_t count)
{
    bool room = add_range(k, 0, INDEX_UNKNOWN);

    for (size_t i = 0; i < count && room; i++) {
        if (i && list[i].low == list[i - 1].low)
            continue;
        room = add_range(k, list[i].low, node_at(k, list[i].at)) &&
               (list[i].high == UINT64_MAX || add_range(k, list[i].high, INDEX_UNKNOWN)) &&
               (i % LOOK_EVERY || !is_late(k));
    }
    return room;
}

static bool add_few(struct making *k)
{
    struct module *m = k->module;
    struct stretch *list = memory_zeroed((m->wanted_count + 1) * sizeof(*list));
    bool added;

    memory_sort(m->wanted, m->wanted_count, sizeof(*m->wanted), by_number);
    for (size_t i = 0; i < m->wanted_count; i++)
        list[i].at = m->wanted[i];
    stretches_find(&m->symbols.spans, list, m->wanted_count);
    added = add_stretches(k, list, m->wanted_count);
    free(list);
    return added;
}

/* ---- all of it ---- */

static bool add_all(struct making *k)
{
    k->until_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + WORK_MOST_NS;
    k->edge_count = k->range_count = 0;
    return k->few ? add_few(k) : find_edges(k) && add_ranges(k);
}

/* All where that can be done, else what is wanted. */
static bool add_some(struct making *k)
{
    if (add_all(k))
        return true;
    if (!k->all || !k->module->units.dwarf)
        return false;
    k->all = false;
    return add_all(k);
}

static void put(struct indexed *out, const void *bytes, size_t size)
{
    if (size)
        memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static void join(struct making *k, struct index_head *head, const struct index_witness *seen,
                 struct indexed *out)
{
    size_t witnesses = head->witnesses * sizeof(*seen);
    size_t ranges = k->range_count * sizeof(*k->ranges), nodes = k->node_count * sizeof(*k->nodes);

    head->ranges = (uint32_t)k->range_count;
    head->nodes = (uint32_t)k->node_count;
    head->string_bytes = (uint32_t)k->text_bytes;
    out->size = 0;
    out->bytes = memory_resize(NULL, sizeof(*head) + witnesses + ranges + nodes + k->text_bytes);
    put(out, head, sizeof(*head));
    put(out, seen, witnesses);
    put(out, k->ranges, ranges);
    put(out, k->nodes, nodes);
    put(out, k->texts, k->text_bytes);
}

static void finish(struct making *k, uint64_t maker, struct indexed *out)
{
    struct module *m = k->module;
    struct index_witness seen[INDEX_WITNESSES_MOST];
    struct index_head head = {.format = INDEX_FORMAT,
                              .maker = maker,
                              .base = k->edge_count ? k->edges[0] : 0,
                              .witnesses = m->seen.count,
                              .path = add_text(k, m->path),
                              .id = add_text(k, m->id),
                              .problem = add_text(k, m->problem)};

    if (!m->units.dwarf && !m->debug.elf)
        head.flags |= INDEX_NO_DEBUG;
    if (k->few)
        head.flags |= INDEX_FEW;
    for (uint32_t i = 0; i < m->seen.count; i++) {
        seen[i].path = add_text(k, m->seen.paths[i]);
        seen[i].file = m->seen.files[i];
    }
    join(k, &head, seen, out);
}

void indexer_want(struct module *m, const uint64_t *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct unit *unit = m->units.dwarf ? units_at(&m->units, addresses[i]) : NULL;

        if (unit)
            unit->wanted = true;
    }
    if (!m->units.dwarf) {
        arena_fit(&m->arena, m->wanted, m->wanted_room, m->wanted_count + count);
        memcpy(m->wanted + m->wanted_count, addresses, count * sizeof(*addresses));
        m->wanted_count += count;
    }
}

static uint64_t debug_bytes(struct module *m)
{
    struct image *from = m->debug.elf ? &m->debug : &m->code;

    return image_section_bytes(from, ".debug_info") + image_section_bytes(from, ".debug_line");
}

static bool is_old(const struct module *m)
{
    uint64_t old_ns = ((uint64_t)time(NULL) - OLD_S) * CLOCK_SECOND_NS;

    return m->seen.count && m->seen.files[0].there && m->seen.files[0].modified_ns < old_ns;
}

bool indexer_make(struct module *m, struct strings *strings, bool all, uint64_t maker,
                  struct indexed *out)
{
    struct making k = {.module = m, .strings = strings};
    bool made = false;

    seen_readers(&m->seen);
    k.all = m->open &&
            (!m->units.dwarf || ((all || is_old(m)) && debug_bytes(m) <= ALL_BYTES_MOST));
    k.few = m->open && !m->units.dwarf && m->symbols.spans.count > SYMBOLS_MOST;
    add_text(&k, NULL);                            /* number 0: none */
    add_node(&k, (struct index_node){0, 0, 0, 0}); /* INDEX_NOTHING */
    if (!m->seen.uncertain && (!m->open || add_some(&k))) {
        finish(&k, maker, out);
        made = out->size <= SEALED_BYTES_MOST;
        if (!made)
            free(out->bytes);
    }
    free(k.edges);
    free(k.ranges);
    free(k.nodes);
    free(k.texts);
    intmap_free(&k.by_text);
    intmap_free(&k.by_node);
    return made;
}
