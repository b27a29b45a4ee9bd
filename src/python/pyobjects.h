/* pyobjects - objects of Python, read by offset: their types, names of modules and attributes of
 * instances.
 *
 * Known of 3.9 to 3.13. What cannot be read is 0.
 */
#ifndef PYTHON_PYOBJECTS_H
#define PYTHON_PYOBJECTS_H

#include "python/pyframes.h"

/* Of any object: a module's dictionary, a reference's object, a future's loop. */
#define PY_FIRST_FIELD 16

struct py_shape { /* of what is not in struct py_layout */
    unsigned int minor;
    uint16_t globals, locals, top, coroutine_frame;
    bool frame_is_inside; /* of the coroutine; else it points to one */
    uint16_t keys_count, keys_indices;
    uint16_t closure; /* of a function */
};

struct py_reader {
    const struct py_layout *layout;
    const struct py_memory *memory;
    const struct py_shape *shape;
};

/* NULL: that version is not known. */
const struct py_shape *py_shape_of(const struct py_layout *l);

uintptr_t py_word(const struct py_reader *r, uintptr_t at);

/* By the name of its type; and of what type an object is. */
bool py_is_named(const struct py_reader *r, uintptr_t type, const char *name);
bool py_is_a(const struct py_reader *r, uintptr_t object, const char *name);

/* What a dictionary whose keys are str has under a name; 0: nothing. */
uintptr_t py_look_up(const struct py_reader *r, uintptr_t dict, const char *name);

/* The attributes of an object, in the order in which its __init__ has set them; 0: not known. */
uintptr_t py_attributes(const struct py_reader *r, uintptr_t object);

#endif
