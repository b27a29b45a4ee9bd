/* pickle_stack - see pickle_stack.h. */
#include "import/pickle_stack.h"

#include "base/memory.h"

#include <stdlib.h>

#define MEMO_MOST (1u << 30)
#define ITEMS_LEAST 128 /* bytes, as memory_fit makes an array */

/* ---- values ---- */

pickle_value pickle_add(struct pickle *p, struct pickle_node n)
{
    memory_fit(p->nodes, p->room, p->count + 1);
    p->nodes[p->count++] = n;
    p->cost += sizeof(n);
    return (pickle_value)p->count; /* from 1 */
}

void pickle_push(struct pickle *p, pickle_value v)
{
    memory_fit(p->stack, p->stack_room, p->depth + 1);
    p->stack[p->depth++] = v;
}

void pickle_push_container(struct pickle *p, enum pickle_type type)
{
    memory_fit(p->items, p->item_room, p->item_count + 1);
    p->items[p->item_count] = (struct pickle_items){0};
    pickle_push(p, pickle_add(p, (struct pickle_node){.type = (uint8_t)type,
                                                      .items = (uint32_t)p->item_count}));
    p->item_count++;
    p->cost += sizeof(*p->items) + ITEMS_LEAST;
}

void pickle_push_integer(struct pickle *p, enum pickle_type type, int64_t value)
{
    pickle_push(p, pickle_add(p, (struct pickle_node){.type = (uint8_t)type, .integer = value}));
}

static void append(struct pickle_items *to, pickle_value v)
{
    memory_fit(to->of, to->room, to->count + 1);
    to->of[to->count++] = v;
}

/* ---- the stack ---- */

pickle_value pickle_top(const struct pickle *p)
{
    return p->depth ? p->stack[p->depth - 1] : 0;
}

/* Above the last mark; the mark is taken off. False: there is none. */
static bool take_marked(struct pickle *p, size_t *from)
{
    for (size_t i = p->depth; i--;)
        if (pickle_type(p, p->stack[i]) == PICKLE_MARK) {
            *from = i + 1;
            return true;
        }
    return false;
}

/* Values from a place of the stack on into the container below; `under`: what lies between. */
static bool fill(struct pickle *p, size_t from, size_t under, enum pickle_type type)
{
    pickle_value into;
    struct pickle_items *to;

    if (from < under + 1 || from > p->depth)
        return false;
    into = p->stack[from - under - 1];
    if (pickle_type(p, into) != type || (type == PICKLE_DICT && (p->depth - from) % 2))
        return false;
    to = &p->items[p->nodes[into - 1].items];
    for (size_t i = from; i < p->depth; i++) {
        if (pickle_type(p, p->stack[i]) == PICKLE_MARK)
            return false;
        append(to, p->stack[i]);
    }
    p->depth = from - under;
    return true;
}

bool pickle_fill_marked(struct pickle *p, enum pickle_type type)
{
    size_t from;

    return take_marked(p, &from) && fill(p, from, 1, type);
}

bool pickle_fill_last(struct pickle *p, size_t count, enum pickle_type type)
{
    return p->depth > count && fill(p, p->depth - count, 0, type);
}

/* The last values become one. */
static bool gather(struct pickle *p, size_t from, size_t under)
{
    struct pickle_items all = {0};
    size_t count = p->depth - from;

    for (size_t i = 0; i < count; i++) {
        if (pickle_type(p, p->stack[from + i]) == PICKLE_MARK) {
            free(all.of);
            return false;
        }
        append(&all, p->stack[from + i]);
    }
    p->depth = from - under;
    pickle_push_container(p, PICKLE_LIST);
    p->items[p->item_count - 1] = all;
    return true;
}

bool pickle_gather_last(struct pickle *p, size_t count)
{
    return p->depth >= count && gather(p, p->depth - count, 0);
}

bool pickle_gather_marked(struct pickle *p)
{
    size_t from;

    return take_marked(p, &from) && gather(p, from, 1);
}

bool pickle_pop_marked(struct pickle *p)
{
    size_t from;

    if (!take_marked(p, &from))
        return false;
    p->depth = from - 1;
    return true;
}

/* ---- what it remembers: numbers of slots are believed as far as the file is long ---- */

bool pickle_remember(struct pickle *p, uint64_t slot)
{
    pickle_value v = pickle_top(p);

    if (!v || pickle_type(p, v) == PICKLE_MARK || slot > p->size || slot > MEMO_MOST)
        return false;
    memory_fit_zeroed(p->memo, p->memo_room, slot + 1);
    p->memo[slot] = v;
    p->memo_count++;
    return true;
}

bool pickle_recall(struct pickle *p, uint64_t slot)
{
    if (slot >= p->memo_room || !p->memo[slot])
        return false;
    pickle_push(p, p->memo[slot]);
    return true;
}
