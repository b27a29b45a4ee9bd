/* torch_taking - see torch_taking.h. */
#include "import/torch_taking.h"

#include "base/count.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BYTES_MOST ((uint64_t)1 << 57)
#define HISTORY ((uint64_t)1 << 40) /* the order of events that are not from before it */

uint64_t torch_bytes(struct torch_taking *t, pickle_value size)
{
    uint64_t bytes = pickle_number(t->p, size, 0);

    t->absurd |= bytes > BYTES_MOST;
    return bytes > BYTES_MOST ? 0 : bytes;
}

/* ---- stacks ---- */

static uint64_t text_of(struct torch_taking *t, pickle_value v)
{
    size_t length;
    const char *text = pickle_text(t->p, v, &length);

    return text && length ? intake_text(t->in, text, length) : 0;
}

/* Frames of C++ are among those of Python, in files that have no such names. */
static bool is_python(const struct torch_taking *t, pickle_value file)
{
    size_t length;
    const char *text = pickle_text(t->p, file, &length);

    if (!text || !length)
        return false;
    return (length > 3 && memcmp(text + length - 3, ".py", 3) == 0) || text[0] == '<';
}

static uint32_t put_frame(struct torch_taking *t, uint32_t parent, pickle_value frame)
{
    pickle_value file = pickle_get(t->p, frame, "filename");
    uint64_t line = pickle_number(t->p, pickle_get(t->p, frame, "line"), 0);
    uint64_t name = text_of(t, pickle_get(t->p, frame, "name"));
    bool known = file && !pickle_is(t->p, file, "??");

    return intake_stack(t->in, parent,
                        intake_frame(t->in, is_python(t, file), name, known ? text_of(t, file) : 0,
                                     line <= UINT32_MAX ? line : 0));
}

/* Lists of frames are shared: each is taken once. */
uint32_t torch_stack(struct torch_taking *t, pickle_value frames)
{
    struct pickle_items all = pickle_items(t->p, frames);
    uint32_t i = all.count < INTAKE_FRAMES_MOST ? all.count : INTAKE_FRAMES_MOST, stack = 0;
    uint64_t known;

    if (!i)
        return 0;
    if (intmap_get(&t->stacks, frames, &known))
        return (uint32_t)known;
    while (i--) /* the innermost is the first */
        stack = put_frame(t, stack, all.of[i]);
    intmap_put(&t->stacks, frames, stack);
    return stack;
}

/* ---- who ---- */

uint32_t torch_thread(struct torch_taking *t, uint64_t stream)
{
    char name[40] = "default stream";
    uint64_t known;

    if (intmap_get(&t->threads, stream, &known))
        return (uint32_t)known;
    if (stream)
        snprintf(name, sizeof(name), "stream 0x%" PRIx64, stream);
    known = intake_thread(t->in, t->process, 0, stream, name);
    intmap_put(&t->threads, stream, known);
    return (uint32_t)known;
}

void torch_begin_device(struct torch_taking *t, uint64_t device)
{
    char name[40];

    snprintf(name, sizeof(name), "device %" PRIu64, device);
    t->process = intake_process(t->in, 0, device + 1, name);
    intmap_free(&t->threads);
    intmap_free(&t->alive);
    t->threads = t->alive = (struct intmap){0};
    t->first_ns = UINT64_MAX;
    t->mapped = t->unmapped = 0;
    t->grown = (struct intake_event){0};
}

/* ---- the history of a device ---- */

static const struct action {
    const char *name;
    enum intake_kind kind;
    bool part; /* of a segment, whose own address is another one */
} actions[] = {
    {"alloc", INTAKE_ALLOC, false},
    {"free_completed", INTAKE_FREE, false},
    {"free", INTAKE_FREE, false}, /* of versions before 2.0 */
    {"segment_alloc", INTAKE_SEGMENT, false},
    {"segment_map", INTAKE_SEGMENT, true},
    {"segment_free", INTAKE_SEGMENT_END, false},
    {"segment_unmap", INTAKE_SEGMENT_END, true},
    {"snapshot", INTAKE_MARK, false},
    {"oom", INTAKE_MARK, false},
};

static const struct action *action_of(const struct torch_taking *t, pickle_value event)
{
    pickle_value action = pickle_get(t->p, event, "action");

    for (int i = 0; i < COUNT(actions); i++)
        if (pickle_is(t->p, action, actions[i].name))
            return &actions[i];
    return NULL;
}

/* Without a clock events are a microsecond apart. */
static uint64_t time_of(struct torch_taking *t, pickle_value event)
{
    uint64_t us = pickle_number(t->p, pickle_get(t->p, event, "time_us"), 0);
    bool known = us && us <= UINT64_MAX / 2000;

    if (!t->timed && !t->untimed) {
        t->timed = known;
        t->untimed = !known;
    }
    if (t->untimed)
        t->now_ns += 1000;
    else if (known)
        t->now_ns = us * 1000;
    return t->now_ns;
}

static bool is_oom(const struct torch_taking *t, pickle_value event)
{
    return pickle_is(t->p, pickle_get(t->p, event, "action"), "oom");
}

static uint64_t name_of(struct torch_taking *t, pickle_value event, uint64_t bytes)
{
    char text[64];

    if (!is_oom(t, event))
        return intake_text(t->in, "snapshot", 8);
    snprintf(text, sizeof(text), "out of memory: %" PRIu64 " bytes asked for", bytes);
    return intake_text(t->in, text, strlen(text));
}

static void add(struct torch_taking *t, struct intake_event e)
{
    e.order = HISTORY + t->order++;
    t->first_ns = e.time_ns < t->first_ns ? e.time_ns : t->first_ns;
    intake_add(t->in, e);
}

void torch_take_event(struct torch_taking *t, pickle_value event)
{
    const struct action *action = action_of(t, event);
    struct intake_event e = {0};
    pickle_value size;

    if (!action)
        return;
    e.kind = action->kind;
    e.info = action->part;
    e.time_ns = time_of(t, event);
    size = pickle_get(t->p, event, "size");
    e.bytes = is_oom(t, event) ? pickle_number(t->p, size, 0) : torch_bytes(t, size);
    e.key = pickle_number(t->p, pickle_get(t->p, event, "addr"), 0);
    e.thread = torch_thread(t, pickle_number(t->p, pickle_get(t->p, event, "stream"), 0));
    if (e.kind == INTAKE_MARK)
        e.key = name_of(t, event, e.bytes);
    if (e.kind == INTAKE_ALLOC || e.kind == INTAKE_SEGMENT || is_oom(t, event))
        e.stack = torch_stack(t, pickle_get(t->p, event, "frames"));
    t->mapped += action->part && e.kind == INTAKE_SEGMENT ? e.bytes : 0;
    t->unmapped += action->part && e.kind == INTAKE_SEGMENT_END ? e.bytes : 0;
    add(t, e);
    if (is_oom(t, event)) { /* the mark that it is, and what was refused */
        e.kind = INTAKE_FAILED;
        e.key = intake_text(t->in, "PyTorch's pool", 14);
        add(t, e);
    }
}
