/* codes - see codes.h.
 *
 * A code object is known by where it is and what it points to: one that is freed and another made
 * in its place are two. Each thread tells of those it meets itself, so that a stack in its ring
 * never comes before the code it refers to.
 */
#include "inject/codes.h"

#include "inject/buffer.h"
#include "inject/python.h"

#define FILE_MOST 3000u
#define NAME_MOST 1000u

_Static_assert(FILE_MOST + NAME_MOST <= RING_TEXT_MOST, "a code's names outgrow a record");

static uint64_t stir(uint64_t h, uint64_t value)
{
    h = (h ^ value) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

static uint64_t key_of(uintptr_t address, const struct py_code *c)
{
    uint64_t h = stir(stir(stir(stir(1, address), c->lines), c->file), c->name);

    return stir(h, (uint32_t)c->first_line) | 2; /* 0 and 1 are no keys */
}

static void tell(struct thread *t, const struct py_memory *m, uintptr_t address,
                 const struct py_code *c, uint32_t number)
{
    const struct py_layout *l = &python.layout;
    char *text = t->text;
    size_t file = py_text(l, m, c->file, text, FILE_MOST);
    size_t bytes = file + py_text(l, m, c->name, text + file, NAME_MOST);
    uint64_t words[3] = {address, c->first_line > 0 ? (uint64_t)c->first_line : 0,
                         (uint64_t)bytes << 32 | file};

    buffer_put(t, (uint64_t)number << 32 | RING_CODE, words, 3, text, bytes);
}

/* 0: none can be given now. */
static uint32_t number_of(struct thread *t, const struct py_memory *m, uintptr_t address,
                          const struct py_code *c, uint64_t key)
{
    struct numbered *near = &t->codes[(key >> 20) % CODES_NEAR];
    uint32_t number;

    if (near->hash == key)
        return (uint32_t)near->number;
    if (local.parked || lookup_claim(&process.codes, key, &number) == LOOKUP_FULL)
        return 0; /* parked: the ring has no room for more than the event's own records */
    tell(t, m, address, c, number);
    t->has_codes = true;
    *near = (struct numbered){key, number};
    return number;
}

/* The code of the interpreter's own that runs __init__ has no lines at all. */
static bool is_helper(const struct py_memory *m, const struct py_code *c)
{
    uintptr_t bytes;

    return python.layout.lines == PY_LINES_LOCATIONS &&
           py_read_word(m, c->lines + python.layout.size, &bytes) && !bytes;
}

/* Most functions go on from where they were: their lines are read on. */
static uint32_t line_of(struct thread *t, const struct py_memory *m, const struct py_code *c,
                        uint64_t key, uintptr_t instruction)
{
    struct line_place *p = &t->line_places[(key >> 20) % LINE_PLACES];

    if (p->key != key)
        *p = (struct line_place){.key = key};
    return py_code_line(&python.layout, m, c, instruction, &p->place);
}

bool codes_frame(struct thread *t, const struct py_memory *m, const struct py_frame *f,
                 uint64_t *frame)
{
    struct py_code c;
    struct numbered *near;
    uint64_t code, key;
    uint32_t number, line;

    if (!py_code_read(&python.layout, m, f->code, &c))
        return false;
    code = key_of(f->code, &c);
    number = number_of(t, m, f->code, &c, code);
    if (!number)
        return false;
    key = stir(code, f->instruction);
    near = &t->lines[(key >> 20) % LINES_NEAR];
    if (near->hash != key) {
        line = line_of(t, m, &c, code, f->instruction);
        *near = (struct numbered){
            key, is_helper(m, &c) ? 0 : RING_FRAME_PYTHON | (uint64_t)number << 24 | line};
    }
    *frame = near->number;
    return true;
}
