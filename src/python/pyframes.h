/* pyframes - the Python functions that a thread is in, and what is known of one, read by offset.
 *
 * Nothing is called and nothing is locked. Whoever reads a thread that is not itself, or one that
 * was interrupted anywhere, gives a py_memory that can fail: 3.11 and 3.12 show a frame before it
 * is filled and clear it before it is gone.
 */
#ifndef PYTHON_PYFRAMES_H
#define PYTHON_PYFRAMES_H

#include "python/layout.h"
#include "python/linetable.h"

struct py_frame {
    uintptr_t code;        /* address of its code object */
    uintptr_t instruction; /* as the frame has it: an address, or before 3.11 a number */
    bool entry;            /* the outermost frame of one call of the interpreter from C */
};

struct py_link { /* a frame as it is in memory */
    uintptr_t code, instruction, previous;
    bool is_entry; /* where frames say so themselves */
    bool is_c;     /* no function's: C code has put it between those of functions */
};

/* False: there is none at this address. */
bool py_link_read(const struct py_layout *l, const struct py_memory *m, uintptr_t at,
                  struct py_link *k);

/* From a frame, or what C code has put before one, to the first that is a function's: *at is it,
 * and 0 at the end, *k what it holds. PY_BAD: it cannot be read.
 */
enum py_step py_link_next(const struct py_layout *l, const struct py_memory *m, uintptr_t *at,
                          struct py_link *k);

/* Is a function's frame the outermost of a call of the interpreter? */
bool py_link_is_entry(const struct py_layout *l, const struct py_memory *m,
                      const struct py_link *k);

struct py_walk {
    const struct py_layout *layout;
    const struct py_memory *memory;
    uintptr_t at; /* the next frame; 0: none */
};

enum py_step { PY_END, PY_FRAME, PY_BAD };

/* Start at a PyThreadState; false: it cannot be read. */
bool py_walk_start(struct py_walk *w, const struct py_layout *l, const struct py_memory *m,
                   uintptr_t tstate);

/* The next frame, innermost first. Frames that are no function's are passed over. */
enum py_step py_walk_next(struct py_walk *w, struct py_frame *f);

struct py_code { /* addresses of objects */
    uintptr_t file, name, lines, instructions;
    int32_t first_line;
};

/* False: it cannot be read, or is no code object. */
bool py_code_read(const struct py_layout *l, const struct py_memory *m, uintptr_t code,
                  struct py_code *c);

/* The byte in its code where a frame stands; UINT32_MAX: it has not started. */
uint32_t py_code_at(const struct py_layout *l, const struct py_code *c, uintptr_t instruction);

/* The line where a frame stands; 0: not known. `place` as for py_line, of this code. */
uint32_t py_code_line(const struct py_layout *l, const struct py_memory *m, const struct py_code *c,
                      uintptr_t instruction, struct py_line_place *place);

/* Find out where this version keeps how wide a str's characters are: 3.14 has moved it. `text` is
 * any str; false: it is none that we can read.
 */
bool py_text_learn(struct py_layout *l, const struct py_memory *m, uintptr_t text);

/* A str as UTF-8, as much as fits; how many bytes there are then, without a final zero. */
size_t py_text(const struct py_layout *l, const struct py_memory *m, uintptr_t text, char *out,
               size_t room);

#endif
