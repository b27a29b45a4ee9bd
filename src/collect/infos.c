/* infos - see infos.h: the table is of open addressing, at most half full. */
#include "collect/infos.h"

#include "base/memory.h"
#include "trace/batch.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ENTRIES 256u

static void insert(struct infos *f, struct infos_entry entry)
{
    struct infos_key key = {entry.bytes, entry.stack, infos_context(f, entry.info)};
    size_t i = infos_home(&key, f->mask);

    while (f->table[i].info)
        i = (i + 1) & f->mask;
    f->table[i] = entry;
}

/* Its context is of a step that has ended: nobody asks for it again. */
static bool is_stale(const struct infos *f, uint32_t info)
{
    uint32_t context = infos_context(f, info);

    return context && context < f->stale;
}

static size_t still_asked_for(const struct infos *f, size_t entries)
{
    size_t count = 0;

    for (size_t i = 0; f->contexts && i < entries; i++)
        count += f->table[i].info && !is_stale(f, f->table[i].info);
    return f->contexts ? count : f->entries;
}

/* Without those of steps that have ended; larger only where the others need it. */
static void grow(struct infos *f)
{
    struct infos_entry *old = f->table;
    size_t entries = old ? f->mask + 1 : 0, kept = still_asked_for(f, entries);

    f->mask = (!entries ? FIRST_ENTRIES : kept > entries / 4 ? entries * 2 : entries) - 1;
    f->table = memory_zeroed((f->mask + 1) * sizeof(*f->table));
    f->entries = kept;
    for (size_t i = 0; i < entries; i++) {
        if (old[i].info && !is_stale(f, old[i].info))
            insert(f, old[i]);
    }
    free(old);
}

static void define(struct infos *f, uint64_t bytes, uint32_t stack, unsigned int origin)
{
    memory_fit(f->pending, f->pending_room, f->pending_used + BATCH_INFO_MOST);
    if (!f->pending_used) {
        f->pending_first = f->count;
        f->pending_stack = 0;
    }
    f->pending_used += batch_put_info(f->pending + f->pending_used, bytes, stack, origin,
                                      f->pending_stack);
    f->pending_stack = stack;
}

static void note_context(struct infos *f, uint32_t context)
{
    struct infos_within *last = f->within_count ? &f->within[f->within_count - 1] : NULL;

    if (!context)
        return;
    if (last && last->context == context && last->first + last->count == f->count) {
        last->count++;
        return;
    }
    memory_fit(f->within, f->within_room, f->within_count + 1);
    f->within[f->within_count++] = (struct infos_within){context, f->count, 1};
}

/* Whoever reads an info knows its context by then. */
static void flush_contexts(struct infos *f, uint64_t process, struct trace_store *s)
{
    for (size_t i = 0; s && i < f->within_count; i++) {
        const struct infos_within *w = &f->within[i];
        struct trace_info_context fields = {process, w->context, w->first, w->count};

        trace_store_put(s, TRACE_INFO_CONTEXT, 0, (const uint64_t *)&fields, 4, NULL, 0);
    }
    f->within_count = 0;
}

void infos_flush(struct infos *f, uint64_t process, struct trace_store *s)
{
    struct trace_infos fields = {process, f->pending_first, f->count + 1 - f->pending_first};

    flush_contexts(f, process, s);
    if (s && f->pending_used)
        trace_store_put(s, TRACE_INFOS, 0, (const uint64_t *)&fields, 3, f->pending,
                        f->pending_used);
    f->pending_used = 0;
}

/* Where the first info of a stack stands; NULL: the number is none that a program gives. */
static uint32_t *first_of(struct infos *f, uint32_t stack)
{
    uint32_t page = stack / INFOS_PAGE;

    if (stack >= RING_STACKS_MOST)
        return NULL;
    memory_fit_zeroed(f->firsts, f->first_pages, page + 1);
    if (!f->firsts[page])
        f->firsts[page] = memory_zeroed(INFOS_PAGE * sizeof(**f->firsts));
    return &f->firsts[page][stack % INFOS_PAGE];
}

/* The last of all: by its stack, if none is there that is still asked for, else in the table. */
static void make_known(struct infos *f, const struct infos_key *key)
{
    uint32_t *first = first_of(f, key->stack);

    if (first && (!*first || is_stale(f, *first))) {
        *first = f->count;
        return;
    }
    if (!f->table || f->entries >= f->mask / 2)
        grow(f);
    f->entries++;
    insert(f, (struct infos_entry){key->bytes, key->stack, f->count});
}

uint32_t infos_add(struct infos *f, const struct infos_key *key, uint32_t known,
                   unsigned int origin)
{
    f->count++;
    memory_fit(f->bytes, f->room, f->count + 1);
    f->bytes[f->count] = key->bytes;
    if (key->context || f->contexts) { /* those from before the first are of none */
        memory_fit_zeroed(f->contexts, f->context_room, f->count + 1);
        f->contexts[f->count] = key->context;
    }
    make_known(f, key);
    define(f, key->bytes, known, origin);
    note_context(f, key->context);
    return f->count;
}

void infos_free(struct infos *f)
{
    for (uint32_t i = 0; i < f->first_pages; i++)
        free(f->firsts[i]);
    free(f->firsts);
    free(f->table);
    free(f->bytes);
    free(f->contexts);
    free(f->within);
    free(f->pending);
    *f = (struct infos){0};
}
