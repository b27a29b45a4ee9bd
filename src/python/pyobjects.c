/* pyobjects - see pyobjects.h. */
#include "python/pyobjects.h"

#define KEYS_MOST 4096u /* of a dictionary of a module */
#define NAME_MOST 24u
#define DICT_KEYS 32
#define DICT_VALUES 40
#define TYPE_NAME 24
#define TYPE_BASIC_SIZE 32

/* top: of the stack; a pointer (3.9), a number of words above `f_valuestack` (3.10) or above
 * `locals`. */
static const struct py_shape shapes[] = {
    {9, 48, 360, 72, 16, false, 32, 40, 48}, {10, 48, 352, 80, 16, false, 32, 40, 72},
    {11, 8, 72, 64, 80, true, 24, 32, 72},   {12, 24, 72, 64, 72, true, 24, 32, 72},
    {13, 24, 72, 64, 72, true, 24, 32, 72},
};

const struct py_shape *py_shape_of(const struct py_layout *l)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        if (l->version >> 24 == 3 && shapes[i].minor == py_layout_minor(l))
            return &shapes[i];
    return NULL;
}

uintptr_t py_word(const struct py_reader *r, uintptr_t at)
{
    uintptr_t value = 0;

    return at > 4096 && !(at & 7) && py_read_word(r->memory, at, &value) ? value : 0;
}

bool py_is_named(const struct py_reader *r, uintptr_t type, const char *name)
{
    uintptr_t text = py_word(r, type + TYPE_NAME);
    char bytes[NAME_MOST];
    size_t length = strlen(name) + 1;

    return type && text && length <= NAME_MOST && py_read(r->memory, text, bytes, length) &&
           memcmp(bytes, name, length) == 0;
}

bool py_is_a(const struct py_reader *r, uintptr_t object, const char *name)
{
    return py_is_named(r, py_word(r, object + r->layout->type), name);
}

/* ---- dictionaries and instances ---- */

struct keys {
    uintptr_t entries, count;
    unsigned int entry_bytes;
};

static bool read_keys(const struct py_reader *r, uintptr_t at, struct keys *k)
{
    uint8_t head[16];
    uintptr_t size;

    k->count = at ? py_word(r, at + r->shape->keys_count) : 0;
    if (!at || k->count > KEYS_MOST || !py_read(r->memory, at, head, sizeof(head)))
        return false;
    k->entry_bytes = 24;
    if (r->shape->minor >=
        11) { /* log2 of the bytes of its indices, and whether all keys are str */
        if (head[9] > 24)
            return false;
        k->entries = at + r->shape->keys_indices + ((uintptr_t)1 << head[9]);
        k->entry_bytes = head[10] ? 16 : 24;
        return true;
    }
    memcpy(&size, head + 8, sizeof(size));
    if (size > KEYS_MOST * 4)
        return false;
    k->entries = at + r->shape->keys_indices + size * (size <= 0xff ? 1 : 2);
    return true;
}

/* What a dictionary whose keys are str has under a name; 0: nothing. */
uintptr_t py_look_up(const struct py_reader *r, uintptr_t dict, const char *name)
{
    struct keys k;
    char text[NAME_MOST];
    size_t length = strlen(name);

    if (!read_keys(r, py_word(r, dict + DICT_KEYS), &k))
        return 0;
    for (uintptr_t i = 0; i < k.count; i++) {
        uintptr_t entry = k.entries + i * k.entry_bytes + (k.entry_bytes == 24 ? 8 : 0);
        uintptr_t key = py_word(r, entry);

        if (key && py_word(r, key + r->layout->text_length) == length &&
            py_text(r->layout, r->memory, key, text, sizeof(text)) == length &&
            memcmp(text, name, length) == 0)
            return py_word(r, entry + 8);
    }
    return 0;
}

/* The attributes of an object, in the order in which its __init__ has set them; 0: not known. */
uintptr_t py_attributes(const struct py_reader *r, uintptr_t object)
{
    uintptr_t values = 0, before = py_word(r, object - 24), dict = before;

    if (r->shape->minor <= 10)
        dict = py_word(r, object + PY_FIRST_FIELD);
    else if (r->shape->minor == 11)
        values = py_word(r, object - 32);
    else if (r->shape->minor == 12)
        values = before & 1 ? before + 1 : 0;
    else if (!before)
        values = object + py_word(r, py_word(r, object + r->layout->type) + TYPE_BASIC_SIZE) + 8;
    if (!values && dict) {
        values = py_word(r, dict + DICT_VALUES);
        values += values && r->shape->minor >= 13 ? 8 : 0;
    }
    return values;
}
