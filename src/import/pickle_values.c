/* pickle_values - see pickle_values.h. */
#include "import/pickle_values.h"

#include <stdlib.h>
#include <string.h>

#define KEYS_MOST 64 /* of a dictionary that are looked at: no one that is asked has more */

void pickle_free(struct pickle *p)
{
    for (size_t i = 0; i < p->item_count; i++)
        free(p->items[i].of);
    free(p->items);
    free(p->nodes);
    free(p->stack);
    free(p->memo);
}

enum pickle_type pickle_type(const struct pickle *p, pickle_value v)
{
    if (v == PICKLE_MARKER)
        return PICKLE_MARK;
    return v ? (enum pickle_type)p->nodes[v - 1].type : PICKLE_NONE;
}

struct pickle_items pickle_items(const struct pickle *p, pickle_value v)
{
    enum pickle_type type = pickle_type(p, v);

    if (type != PICKLE_LIST && type != PICKLE_DICT)
        return (struct pickle_items){0};
    return p->items[p->nodes[v - 1].items];
}

pickle_value pickle_get(const struct pickle *p, pickle_value dict, const char *key)
{
    struct pickle_items all = pickle_items(p, dict);

    if (pickle_type(p, dict) != PICKLE_DICT)
        return 0;
    for (uint32_t i = all.count, n = 0; i >= 2 && n < KEYS_MOST; i -= 2, n++)
        if (pickle_is(p, all.of[i - 2], key))
            return all.of[i - 1];
    return 0;
}

uint64_t pickle_number(const struct pickle *p, pickle_value v, uint64_t other)
{
    enum pickle_type type = pickle_type(p, v);

    if (type == PICKLE_REAL && p->nodes[v - 1].real >= 0 && p->nodes[v - 1].real < 1.8e19)
        return (uint64_t)p->nodes[v - 1].real;
    return type == PICKLE_INTEGER || type == PICKLE_BOOL ? (uint64_t)p->nodes[v - 1].integer
                                                         : other;
}

const char *pickle_text(const struct pickle *p, pickle_value v, size_t *length)
{
    if (pickle_type(p, v) != PICKLE_TEXT)
        return NULL;
    *length = p->nodes[v - 1].length;
    return (const char *)p->bytes + p->nodes[v - 1].text;
}

bool pickle_is(const struct pickle *p, pickle_value v, const char *text)
{
    size_t length, want = strlen(text);
    const char *is = pickle_text(p, v, &length);

    return is && length == want && memcmp(is, text, want) == 0;
}
