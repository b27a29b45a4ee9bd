/* pystack - see pystack.h. */
#include "collect/pystack.h"

#include "base/hash.h"
#include "collect/peek.h"
#include "python/pyframes.h"
#include "python/pythreads.h"

#include <string.h>

#define DEPTH_MOST 256
#define TEXT_MOST 1024
#define TASKS_MOST 64    /* of an event loop: more are taken for like those */
#define AWAITERS_MOST 8  /* tasks that await one another */
#define LOOP_INNERMOST 2 /* frames: that of the selector may be within that of the loop */

static bool read_remote(void *context, uintptr_t at, void *to, size_t bytes)
{
    const struct absorb_process *p = context;

    return peek(p->pid, at, to, bytes) == bytes;
}

void pystack_python(struct absorb_process *p, uint32_t version, uint64_t runtime, uint64_t bytes,
                    uint64_t code_type)
{
    struct py_memory m = {read_remote, p};
    struct absorb_python *python = &p->python;

    python->runtime = runtime;
    python->runtime_bytes = bytes;
    python->read = py_layout_find(&python->layout, version, &m, runtime) == PY_LAYOUT_FOUND;
    python->layout.code_type = code_type;
}

uint64_t pystack_tstate(struct absorb_process *p, uint32_t tid, uint64_t last)
{
    struct py_memory m = {read_remote, p};

    if (!p->python.read)
        return 0;
    if (last && py_thread_is(&p->python.layout, &m, last, tid))
        return last;
    return py_thread_find(&p->python.layout, &m, p->python.runtime, tid);
}

/* A function that is known by where its parts are: a reused address has other parts. */
static uint64_t identity(uintptr_t code, const struct py_code *c)
{
    uint64_t key = hash_mix(hash_mix(code, c->lines), c->file);

    return hash_mix(key, c->name) ^ (uint64_t)c->first_line;
}

static bool ends_with(const char *text, size_t length, const char *end)
{
    size_t bytes = strlen(end);

    return length >= bytes && memcmp(text + length - bytes, end, bytes) == 0;
}

/* Is it a function in which an event loop waits, or that has started one that is no Python? */
static void note_loop(struct absorb_python *python, uint64_t code, const char *text, size_t file,
                      size_t name)
{
    static const struct {
        const char *file, *function;
    } loops[PY_LOOP_KINDS] = {[PY_LOOP_ASYNCIO] = {"/asyncio/base_events.py", "_run_once"},
                              [PY_LOOP_RUNNER] = {"/asyncio/runners.py", "run"},
                              [PY_LOOP_TRIO] = {"/trio/_core/_run.py", "run"}};

    for (int i = PY_LOOP_NONE + 1; i < PY_LOOP_KINDS; i++)
        if (ends_with(text, file, loops[i].file) && ends_with(text + file, name, loops[i].function))
            python->loop_codes[i] = code;
}

/* The frame of the trace for one frame of Python; 0: it cannot be read. */
static uint64_t frame_of(struct absorb *a, struct absorb_process *p, const struct py_memory *m,
                         const struct py_frame *f)
{
    const struct py_layout *l = &p->python.layout;
    char text[2 * TEXT_MOST];
    struct py_code code;
    struct stackmap_code known;
    size_t file, name;
    uint64_t key;

    if (!py_code_read(l, m, f->code, &code))
        return 0;
    key = identity(f->code, &code);
    if (!stackmap_known(&p->stacks, key, &known)) {
        file = py_text(l, m, code.file, text, TEXT_MOST);
        name = py_text(l, m, code.name, text + file, TEXT_MOST);
        known = stackmap_know(&p->stacks, a->store, key, (uint64_t)code.first_line, text, file,
                              file + name);
        note_loop(&p->python, f->code, text, file, name);
    }
    return stackmap_python(&a->stackmap, a->store, &known,
                           py_code_line(l, m, &code, f->instruction, NULL));
}

struct found { /* of a thread, innermost first */
    uint64_t frames[DEPTH_MOST];
    size_t count;
    size_t loop;       /* 1 + the place of the frame of an event loop that waits; 0: it is none */
    uintptr_t loop_at; /* and where that is */
    enum py_loop_kind kind;
};

static void note_frame(const struct absorb_python *python, struct found *f, uint64_t code,
                       uintptr_t at)
{
    int kind = PY_LOOP_NONE + 1;

    while (kind < PY_LOOP_KINDS && python->loop_codes[kind] != code)
        kind++;
    if (f->loop || f->count >= LOOP_INNERMOST || kind == PY_LOOP_KINDS)
        return;
    f->loop = f->count + 1;
    f->loop_at = at;
    f->kind = (enum py_loop_kind)kind;
}

static void find_frames(struct absorb *a, struct absorb_process *p, const struct py_memory *m,
                        uint64_t tstate, struct found *out)
{
    struct py_walk walk;
    struct py_link link;
    struct py_frame f;

    if (!tstate || !p->python.read || !py_walk_start(&walk, &p->python.layout, m, tstate))
        return;
    while (out->count < DEPTH_MOST &&
           py_link_next(&p->python.layout, m, &walk.at, &link) == PY_FRAME) {
        f = (struct py_frame){link.code, link.instruction, false};
        out->frames[out->count] = frame_of(a, p, m, &f);
        if (!out->frames[out->count])
            break;
        note_frame(&p->python, out, f.code, walk.at);
        out->count++;
        walk.at = link.previous;
    }
}

/* ---- what an event loop waits for ---- */

/* What is called when a task ends knows the future of who awaits it, alone or with others. */
static bool awaits(const struct py_task *one, const struct py_task *other)
{
    bool found = one->waits_for == other->task;

    for (size_t i = 0; !found && i < other->hearer_count; i++)
        found = other->hearers[i] == one->waits_for;
    return found && one != other && one->waits_for;
}

struct awaiting {
    struct py_task tasks[TASKS_MOST];
    size_t count;
    struct {
        size_t by;    /* 1 + the place of the task that awaits it; 0: none */
        bool leaves;  /* it awaits others, and leaves the waiting to them */
    } of[TASKS_MOST]; /* by place of the task */
    uint64_t base;    /* the stack of the loop */
    uint64_t pc;      /* the frame of its system call */
};

static void find_awaiters(struct awaiting *w)
{
    for (size_t i = 0; i < w->count; i++)
        for (size_t k = 0; k < w->count && !w->of[i].by; k++)
            if (awaits(&w->tasks[k], &w->tasks[i])) {
                w->of[i].by = k + 1;
                w->of[k].leaves = true;
            }
}

static uint64_t push_task(struct absorb *a, struct absorb_process *p, const struct py_memory *m,
                          const struct py_task *t, uint64_t stack)
{
    for (size_t i = 0; i < t->count; i++) {
        uint64_t frame = frame_of(a, p, m, &t->frames[i]);

        if (!frame)
            break;
        stack = stackmap_push(&a->stackmap, a->store, stack, frame);
    }
    return stack;
}

static void add_await(struct pystack *out, uint64_t stack)
{
    unsigned int i = 0;

    while (i < out->awaits && out->await[i].stack != stack)
        i++;
    if (i == PYSTACK_AWAITS)
        return;
    out->awaits += i == out->awaits;
    out->await[i].stack = stack;
    out->await[i].tasks++;
}

static void add_task(struct absorb *a, struct absorb_process *p, const struct py_memory *m,
                     const struct awaiting *w, size_t last, struct pystack *out)
{
    const struct py_task *chain[AWAITERS_MOST];
    size_t depth = 0;
    uint64_t stack = w->base;

    for (size_t i = last + 1; i && depth < AWAITERS_MOST; i = w->of[i - 1].by)
        chain[depth++] = &w->tasks[i - 1];
    while (depth > 0)
        stack = push_task(a, p, m, chain[--depth], stack);
    add_await(out, stackmap_push(&a->stackmap, a->store, stack, w->pc));
}

static void find_awaits(struct absorb *a, struct absorb_process *p, const struct py_memory *m,
                        const struct found *f, struct awaiting *w, struct pystack *out)
{
    const struct py_layout *l = &p->python.layout;
    struct py_loop *loop = &p->python.loops[f->kind];

    if (!py_loop_find(l, m, f->loop_at, f->kind, loop))
        return;
    w->count = py_tasks_read(l, m, loop, w->tasks, TASKS_MOST);
    find_awaiters(w);
    for (size_t i = 0; i < w->count; i++)
        if (!w->of[i].leaves)
            add_task(a, p, m, w, i, out);
}

static uint64_t push_all(struct absorb *a, const struct found *f, size_t from)
{
    uint64_t stack = 0;

    for (size_t i = f->count; i > from; i--)
        stack = stackmap_push(&a->stackmap, a->store, stack, f->frames[i - 1]);
    return stack;
}

static uint64_t push_native(struct absorb *a, const struct absorb_process *p, uint64_t stack,
                            const struct native_stack *s, size_t count)
{
    for (size_t i = count; i > 0; i--)
        stack = stackmap_push(
            &a->stackmap, a->store, stack,
            stackmap_native(&a->stackmap, &p->stacks, a->store, s->frames[i - 1]));
    return stack;
}

/* Native frames stand on those of Python as far as the interpreter has called them. Where they do
 * not lead there, none but the innermost is known to belong there.
 */
static uint64_t push_on_python(struct absorb *a, struct absorb_process *p, uint64_t stack,
                               const struct native_stack *s)
{
    size_t count;

    if (!native_stack_before(p, s, p->python.runtime, &count) || !count)
        count = 1;
    return push_native(a, p, stack, s, count);
}

static uint64_t push_alone(struct absorb *a, const struct absorb_process *p,
                           const struct native_stack *s)
{
    uint64_t stack = 0;

    if (!s->whole)
        stack = stackmap_push(&a->stackmap, a->store, 0,
                              stackmap_native(&a->stackmap, &p->stacks, a->store, RING_FRAME_CUT));
    return push_native(a, p, stack, s, s->count);
}

void pystack_of(struct absorb *a, struct absorb_process *p, const struct native_place *at,
                uint64_t tstate, struct pystack *out)
{
    struct py_memory m = {read_remote, p};
    struct found f = {.count = 0};
    struct native_stack native;
    struct awaiting w;

    *out = (struct pystack){0};
    find_frames(a, p, &m, tstate, &f);
    native_stack_read(a, p, at, &native);
    out->python = f.count > 0;
    out->stack = out->python ? push_on_python(a, p, push_all(a, &f, 0), &native)
                             : push_alone(a, p, &native);
    if (!f.loop)
        return;
    w = (struct awaiting){
        .base = push_all(a, &f, f.loop - 1),
        .pc = stackmap_native(&a->stackmap, &p->stacks, a->store, native.frames[0])};
    find_awaits(a, p, &m, &f, &w, out);
}
