/* pickle_values - the values of a Python pickle that is nothing but data: numbers, texts, lists,
 * tuples and dictionaries.
 *
 * Values are numbered; a list may hold itself, so whoever walks them goes as deep as it expects to,
 * not as deep as they go.
 */
#ifndef IMPORT_PICKLE_VALUES_H
#define IMPORT_PICKLE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pickle_type {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INTEGER,
    PICKLE_REAL,
    PICKLE_TEXT,
    PICKLE_LIST, /* and tuples */
    PICKLE_DICT, /* keys and values in turn */
    PICKLE_MARK, /* never a value */
};

typedef uint32_t pickle_value;   /* 0: there is none */
#define PICKLE_MARKER UINT32_MAX /* a place of the stack, and no value */

struct pickle_items {
    pickle_value *of;
    uint32_t count, room;
};

struct pickle {                 /* zeroed: empty */
    const unsigned char *bytes; /* the caller's, of which texts are parts */
    size_t size, at;
    struct pickle_node {
        uint32_t length; /* of a text */
        uint8_t type;
        union {
            int64_t integer;
            double real;
            size_t text;    /* where it begins */
            uint32_t items; /* its place in `items` */
        };
    } * nodes;
    size_t count, room;
    struct pickle_items *items;
    size_t item_count, item_room;
    pickle_value *stack, *memo;
    size_t depth, stack_room, memo_room, memo_count;
    uint64_t cost; /* bytes that values take */
};

void pickle_free(struct pickle *p);

enum pickle_type pickle_type(const struct pickle *p, pickle_value v); /* of 0: PICKLE_NONE */
/* Of a list or a dictionary; nothing of others. */
struct pickle_items pickle_items(const struct pickle *p, pickle_value v);
/* The last value of a key; 0: there is none, or it is no dictionary. */
pickle_value pickle_get(const struct pickle *p, pickle_value dict, const char *key);

/* Of anything else these are `other`, and no text. Negative numbers are themselves, modulo 2^64. */
uint64_t pickle_number(const struct pickle *p, pickle_value v, uint64_t other);
const char *pickle_text(const struct pickle *p, pickle_value v, size_t *length);
bool pickle_is(const struct pickle *p, pickle_value v, const char *text);

#endif
