/* pystack - see pystack.h. */
#include "watch/pystack.h"

#include "python/pyframes.h"
#include "python/pythreads.h"

#include <sys/uio.h>

#define DEPTH_MOST 256
#define TEXT_MOST 1024

static bool read_remote(void *context, uintptr_t at, void *to, size_t bytes)
{
    const struct absorb_process *p = context;
    struct iovec mine = {to, bytes}, theirs = {(void *)at, bytes};

    return process_vm_readv((pid_t)p->pid, &mine, 1, &theirs, 1, 0) == (ssize_t)bytes;
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
    uint64_t h = code;

    h = (h ^ c->lines) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 32 ^ c->file) * 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 32 ^ c->name) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32 ^ (uint64_t)c->first_line;
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
    }
    return stackmap_python(&a->stackmap, a->store, &known,
                           py_code_line(l, m, &code, f->instruction));
}

static size_t python_frames(struct absorb *a, struct absorb_process *p, uint64_t tstate,
                            uint64_t frames[DEPTH_MOST])
{
    struct py_memory m = {read_remote, p};
    struct py_walk walk;
    struct py_frame f;
    size_t count = 0;

    if (!tstate || !p->python.read || !py_walk_start(&walk, &p->python.layout, &m, tstate))
        return 0;
    while (count < DEPTH_MOST && py_walk_next(&walk, &f) == PY_FRAME) {
        frames[count] = frame_of(a, p, &m, &f);
        if (!frames[count])
            break;
        count++;
    }
    return count;
}

uint64_t pystack_of(struct absorb *a, struct absorb_process *p, uint64_t pc, uint64_t tstate)
{
    uint64_t frames[DEPTH_MOST], stack = 0;
    size_t count = python_frames(a, p, tstate, frames);

    while (count > 0)
        stack = stackmap_push(&a->stackmap, a->store, stack, frames[--count]);
    return stackmap_push(&a->stackmap, a->store, stack,
                         stackmap_address(&a->stackmap, &p->stacks, a->store, pc));
}
