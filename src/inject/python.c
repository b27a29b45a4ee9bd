/* python - see python.h. */
#include "inject/python.h"
#include "inject/objects.h"

#include "inject/buffer.h"
#include "inject/elf.h"
#include "inject/last_look.h"
#include "inject/sys.h"
#include "python/opcodes.h"
#include "python/pyframes.h"

#include <dlfcn.h>

#define EVAL "_PyEval_EvalFrameDefault"
#define CHECK_FRAMES 256 /* of the first stack are checked */
#define CHECK_LINES 8    /* and so many of their lines */
#define CHECKS_MOST 3    /* that may fail before we give up */

struct python python;

static _Atomic bool searching, announced, ended;
static _Atomic unsigned int failures;

/* ---- finding it ---- */

static uintptr_t address_of(const struct elf *e, const char *name)
{
    const Elf64_Sym *s = elf_symbol(e, name);

    return s ? e->base + s->st_value : 0;
}

static uint32_t digits(const char **text)
{
    uint32_t value = 0;

    for (; **text >= '0' && **text <= '9' && value < 1000; (*text)++)
        value = value * 10 + (uint32_t)(**text - '0');
    if (**text == '.')
        (*text)++;
    return value & 255;
}

/* Before 3.11 there is only a text. */
static uint32_t version_of(const struct elf *e)
{
    uintptr_t at = address_of(e, "Py_Version");
    const char *text;
    uint32_t major, minor;

    if (at)
        return (uint32_t) * (const unsigned long *)at;
    if (!python.version_text)
        return 0;
    text = python.version_text();
    major = digits(&text);
    minor = digits(&text);
    return major << 24 | minor << 16 | digits(&text) << 8;
}

static void refuse(enum ring_python why)
{
    python.refusal = why;
    atomic_store_explicit(&python.state, PYTHON_REFUSED, memory_order_release);
}

static void find_ranges(uintptr_t eval, size_t eval_bytes)
{
    struct object o;

    python.eval[0] = (struct part){eval, eval + eval_bytes};
    for (unsigned int i = 1 + parts_find(eval, python.eval + 1, EVAL_PARTS - 1); i < EVAL_PARTS;
         i++)
        python.eval[i] = (struct part){0, 0};
    if (objects_find((const void *)eval, &o)) {
        python.module_low = (uintptr_t)o.start;
        python.module_high = (uintptr_t)o.end;
    }
}

/* A debug build that links all its objects has two words more before each. Its own type is of that
 * type, which shows where the type of an object stands.
 */
static bool has_longer_objects(const struct elf *e)
{
    uintptr_t type = address_of(e, "PyType_Type");

    return address_of(e, "_Py_NegativeRefcount") &&
           (!type || *(const uintptr_t *)(type + python.layout.type) != type);
}

/* It was renamed in 3.13. */
static void *(*current_of(const struct elf *e))(void)
{
    uintptr_t at = address_of(e, "PyThreadState_GetUnchecked");

    if (!at)
        at = address_of(e, "_PyThreadState_UncheckedGet");
    return at ? (void *(*)(void))at : python.tstate;
}

static void take_module(const struct elf *e, const Elf64_Sym *eval)
{
    const struct py_memory plain = {NULL, NULL};
    enum py_layout_found found;

    python.runtime = address_of(e, "_PyRuntime");
    python.runtime_bytes = python.runtime ? elf_symbol(e, "_PyRuntime")->st_size : 0;
    python.tstate = (void *(*)(void))address_of(e, "PyGILState_GetThisThreadState");
    python.current = current_of(e);
    python.line = (int (*)(void *, int))address_of(e, "PyCode_Addr2Line");
    python.version_text = (const char *(*)(void))address_of(e, "Py_GetVersion");
    python.text_type = address_of(e, "PyUnicode_Type");
    python.bytes_type = address_of(e, "PyBytes_Type");
    python.finalizing = (int (*)(void))address_of(e, "_Py_IsFinalizing");
    if (!python.finalizing)
        python.finalizing = (int (*)(void))address_of(e, "Py_IsFinalizing");
    python.version = version_of(e);
    find_ranges(e->base + eval->st_value, eval->st_size);
    found = python.runtime ? py_layout_find(&python.layout, python.version, &plain, python.runtime)
                           : PY_LAYOUT_UNKNOWN;
    python.layout.code_type = address_of(e, "PyCode_Type");
    if (found == PY_LAYOUT_FREE_THREADED)
        refuse(RING_PYTHON_FREE);
    else if (found == PY_LAYOUT_FOUND && has_longer_objects(e))
        refuse(RING_PYTHON_DEBUG);
    else if (found != PY_LAYOUT_FOUND || !python.tstate || !python.line ||
             !python.layout.code_type || !python.text_type || !python.bytes_type ||
             !python.finalizing || !eval->st_size)
        refuse(RING_PYTHON_UNKNOWN);
    else
        atomic_store_explicit(&python.state, PYTHON_FOUND, memory_order_release);
}

void python_module(const struct link_map *map)
{
    const Elf64_Sym *eval;
    struct elf e;

    if (!(process.control->wants & RING_WANTS_PYTHON) ||
        atomic_load_explicit(&python.state, memory_order_relaxed) != PYTHON_NONE ||
        !elf_open(&e, map))
        return;
    eval = elf_symbol(&e, EVAL);
    if (eval && !atomic_exchange(&searching, true))
        take_module(&e, eval);
}

void python_start(void)
{
    const struct link_map *map = elf_defining(EVAL);

    if (map)
        python_module(map);
}

void python_unloaded(void)
{
    struct object o;

    if (atomic_load(&python.state) == PYTHON_NONE ||
        (objects_find((const void *)python.eval[0].low, &o) &&
         (uintptr_t)o.start == python.module_low))
        return;
    atomic_store(&python.state, PYTHON_NONE);
    atomic_store(&searching, false);
    atomic_store(&announced, false);
    atomic_store(&ended, false);
}

void python_forked(void)
{
    atomic_store(&announced, false);
    atomic_store(&ended, false);
    last_look_forked();
}

/* ---- believing it ---- */

static bool has_type(const struct py_memory *m, uintptr_t object, uintptr_t type)
{
    uintptr_t seen;

    return py_read_word(m, object + python.layout.type, &seen) && seen == type;
}

/* Is what the frame refers to of the right types, and its line what the interpreter says? */
static bool right_frame(const struct py_memory *m, const struct py_frame *f, bool lines,
                        bool interrupted)
{
    const struct py_layout *l = &python.layout;
    struct py_code c;
    uint32_t at;
    int line;

    if (!py_code_read(l, m, f->code, &c))
        return false;
    if (!lines)
        return true;
    if (!has_type(m, c.file, python.text_type) || !has_type(m, c.name, python.text_type) ||
        !has_type(m, c.lines, python.bytes_type) || !py_text_learn(&python.layout, m, c.name))
        return false;
    at = py_code_at(l, &c, f->instruction);
    if (at == UINT32_MAX || interrupted)
        return true;
    line = python.line((void *)f->code, (int)at);
    return line <= 0 || (uint32_t)line == py_code_line(l, m, &c, f->instruction, NULL);
}

/* Read the whole stack without trust. 1: right, 0: no frame yet, -1: wrong. */
static int check(uintptr_t tstate, bool interrupted)
{
    struct glimpse g;
    struct py_memory m = glimpse_begin(&g);
    enum py_step step = PY_FRAME;
    struct py_walk w;
    struct py_frame f;
    unsigned int count = 0;

    if (!glimpse_allowed())
        m.read = NULL;
    if (!py_walk_start(&w, &python.layout, &m, tstate))
        return -1;
    while (count < CHECK_FRAMES && (step = py_walk_next(&w, &f)) == PY_FRAME) {
        if (!right_frame(&m, &f, count < CHECK_LINES, interrupted))
            return -1;
        count++;
    }
    return step == PY_BAD ? -1 : count > 0;
}

/* A thread that was interrupted may be between two states, which says nothing of the layout. */
static OUTLINE void settle(uintptr_t tstate, bool interrupted)
{
    int result = interrupted && !glimpse_allowed() ? 0 : check(tstate, interrupted);

    if (result > 0)
        atomic_store_explicit(&python.state, PYTHON_READ, memory_order_release);
    else if (result < 0 && !interrupted && atomic_fetch_add(&failures, 1) + 1 >= CHECKS_MOST)
        refuse(RING_PYTHON_MISMATCH);
}

/* ---- telling of it ---- */

static OUTLINE void announce(struct thread *t)
{
    int state = atomic_load(&python.state);
    uint64_t words[5] = {python.version,
                         state == PYTHON_REFUSED ? python.refusal : RING_PYTHON_READ,
                         python.runtime, python.runtime_bytes, python.layout.code_type};

    if (!atomic_exchange(&announced, true))
        buffer_put(t, RING_PYTHON, words, 5, NULL, 0);
}

bool python_is_read(void)
{
    return atomic_load_explicit(&python.state, memory_order_acquire) == PYTHON_READ;
}

void python_tell(struct thread *t)
{
    int state = atomic_load_explicit(&python.state, memory_order_acquire);

    if (state == PYTHON_READ || state == PYTHON_REFUSED)
        announce(t);
}

/* An interpreter that was started anew ends a second time. */
static OUTLINE void put_end(struct thread *t, bool ends)
{
    static const char text[] = "interpreter ends";
    uint64_t words[2] = {0, (uint64_t)(sizeof(text) - 1) << 32 | (sizeof(text) - 1)};

    if (atomic_exchange(&ended, ends) == ends || !ends)
        return;
    buffer_moment(t);
    last_look(t); /* before it frees what its program held */
    buffer_put(t, buffer_word(RING_MARK, RING_MARK_FINALIZING, 0), words, 2, text,
               sizeof(text) - 1);
}

void python_tell_end(struct thread *t)
{
    bool ends;

    if (likely(atomic_load_explicit(&python.state, memory_order_acquire) == PYTHON_NONE) ||
        !python.finalizing)
        return;
    ends = python.finalizing() != 0;
    if (unlikely(ends != atomic_load_explicit(&ended, memory_order_relaxed)))
        put_end(t, ends);
}

bool python_ready(struct thread *t, uintptr_t tstate, bool interrupted)
{
    int state = atomic_load_explicit(&python.state, memory_order_acquire);

    if (unlikely(state == PYTHON_FOUND)) {
        settle(tstate, interrupted);
        state = atomic_load_explicit(&python.state, memory_order_acquire);
    }
    if (state == PYTHON_FOUND)
        return false;
    if (unlikely(!atomic_load_explicit(&announced, memory_order_relaxed)))
        announce(t);
    return state == PYTHON_READ;
}

void python_torn(struct thread *t)
{
    atomic_fetch_add_explicit(&t->slot->torn, 1, memory_order_relaxed);
}

uintptr_t python_own_tstate(const struct thread *t)
{
    if (unlikely(python.finalizing()) && t->tid != sys_pid())
        return 0;
    return python_tstate();
}

static bool at_call(struct thread *t)
{
    const struct py_layout *l = &python.layout;
    struct py_memory m = {glimpse_read, &t->glimpse};
    uintptr_t at = t->python_at;
    struct py_code c;
    uint8_t opcode;

    if (l->lines != PY_LINES_LOCATIONS) {
        if (!py_code_read(l, &m, t->python_code, &c) ||
            py_code_at(l, &c, t->python_at) == UINT32_MAX)
            return false;
        at = c.instructions + l->bytes_data + py_code_at(l, &c, t->python_at);
    }
    return py_read(&m, at, &opcode, 1) && py_opcode_calls(python.version, opcode);
}

struct python_place python_place(struct thread *t, uintptr_t pc)
{
    struct python_place p = {0};

    if (!python_any())
        return p;
    p.in_eval = python_is_eval(pc + 1);
    p.in_module = pc - python.module_low < python.module_high - python.module_low;
    p.python = t->python_code != 0;
    p.calling = p.python && at_call(t);
    return p;
}
