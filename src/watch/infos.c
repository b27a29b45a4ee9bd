/* infos - see infos.h: open addressing, at most half full. */
#include "watch/infos.h"

#include "base/memory.h"
#include "trace/batch.h"

#include <stdlib.h>

#define FIRST_ENTRIES 256u

static void insert(struct infos *f, struct infos_entry entry)
{
    size_t i = infos_home(entry.stack, entry.bytes, f->mask);

    while (f->table[i].info)
        i = (i + 1) & f->mask;
    f->table[i] = entry;
}

static void grow(struct infos *f)
{
    struct infos_entry *old = f->table;
    size_t entries = old ? f->mask + 1 : 0;

    f->mask = (entries ? entries * 2 : FIRST_ENTRIES) - 1;
    f->table = memory_zeroed((f->mask + 1) * sizeof(*f->table));
    for (size_t i = 0; i < entries; i++) {
        if (old[i].info)
            insert(f, old[i]);
    }
    free(old);
}

static void define(struct infos *f, uint64_t bytes, uint32_t stack, unsigned int origin)
{
    if (f->pending_used + 30 > f->pending_room) {
        f->pending_room = f->pending_room ? f->pending_room * 2 : 1024;
        f->pending = memory_resize(f->pending, f->pending_room);
    }
    if (!f->pending_used) {
        f->pending_first = f->count;
        f->pending_stack = 0;
    }
    f->pending_used += batch_put_info(f->pending + f->pending_used, bytes, stack, origin,
                                      f->pending_stack);
    f->pending_stack = stack;
}

void infos_flush(struct infos *f, uint64_t process, struct trace_store *s)
{
    struct trace_infos fields = {process, f->pending_first, f->count + 1 - f->pending_first};

    if (s && f->pending_used)
        trace_store_put(s, TRACE_INFOS, 0, (const uint64_t *)&fields, 3, f->pending,
                        f->pending_used);
    f->pending_used = 0;
}

uint32_t infos_add(struct infos *f, uint32_t stack, uint64_t bytes, uint32_t known,
                   unsigned int origin)
{
    if (!f->table || f->count >= f->mask / 2)
        grow(f);
    if (++f->count >= f->room) {
        f->room = f->room ? f->room * 2 : FIRST_ENTRIES;
        f->bytes = memory_resize(f->bytes, f->room * sizeof(*f->bytes));
    }
    f->bytes[f->count] = bytes;
    insert(f, (struct infos_entry){bytes, stack, f->count});
    define(f, bytes, known, origin);
    return f->count;
}

void infos_free(struct infos *f)
{
    free(f->table);
    free(f->bytes);
    free(f->pending);
    *f = (struct infos){0};
}
