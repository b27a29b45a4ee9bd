/* frames - see frames.h. Numbers come from a file: a parent is always an earlier stack, so no walk
 * goes in circles, and a number may not be far above those that are known.
 */
#include "analyze/frames.h"

#include "base/memory.h"
#include "trace/batch.h"

#include <stdlib.h>
#include <string.h>

#define STACKS_MOST ((size_t)1 << 23)
#define FRAMES_MOST ((size_t)1 << 23)
#define MODULES_MOST ((size_t)1 << 20)
#define GAPS_MOST ((size_t)1 << 21) /* numbers that lost chunks may have defined, in all */
#define PROFILED_MOST 4096
#define DEPTH_MOST 4096 /* frames of a stack that are shown */

/* Room for number `want`, what is new zeroed; false: it is above the limits. */
static bool reach(struct frames *f, void **array, size_t *count, size_t *room, uint64_t want,
                  size_t most, size_t size)
{
    size_t now = *room ? *room : 256, gap = want > *count ? (size_t)want - *count - 1 : 0;

    if (want > most || gap > GAPS_MOST - f->gaps)
        return false;
    f->gaps += gap;
    while (now <= want)
        now *= 2;
    if (now > *room) {
        *array = memory_resize(*array, now * size);
        memset((char *)*array + *room * size, 0, (now - *room) * size);
        *room = now;
    }
    if (want > *count)
        *count = (size_t)want;
    return true;
}

static void take_frame(struct frames *f, const struct trace_frame *r)
{
    struct frames_frame *frame;

    if (!r->frame || !reach(f, (void **)&f->frames, &f->frame_count, &f->frame_room, r->frame,
                            FRAMES_MOST, sizeof(*f->frames))) {
        f->left_out++;
        return;
    }
    frame = &f->frames[r->frame];
    frame->flavour = r->flavour;
    frame->owner = r->process;
    frame->address = r->address;
}

static void take_name(struct frames *f, const struct trace_name *r)
{
    struct frames_name *name, **at;

    if (!r->frame || r->frame > f->frame_count || r->depth >= FRAMES_INLINED_MOST) {
        f->left_out++;
        return;
    }
    at = &f->frames[r->frame].names;
    while (*at && (*at)->depth < r->depth)
        at = &(*at)->next;
    if (*at && (*at)->depth == r->depth)
        return;
    name = arena_alloc(f->names.arena, sizeof(*name));
    *name = (struct frames_name){
        .depth = r->depth,
        .line = r->line,
        .function = names_get(&f->names, r->function),
        .file = names_get(&f->names, r->file),
        .next = *at,
    };
    *at = name;
}

static void take_stack(struct frames *f, const struct trace_stack *r)
{
    if (!r->stack || r->parent >= r->stack || r->frame > f->frame_count ||
        !reach(f, (void **)&f->stacks, &f->stack_count, &f->stack_room, r->stack, STACKS_MOST,
               sizeof(*f->stacks))) {
        f->left_out++;
        return;
    }
    f->stacks[r->stack] = (struct frames_stack){(uint32_t)r->parent, (uint32_t)r->frame};
}

static void take_stacks(struct frames *f, const struct trace_event *ev)
{
    const unsigned char *tail = ev->tail;
    size_t size = ev->tail_bytes;
    uint64_t next = ev->stacks.first;
    struct trace_stack stack;

    while (batch_next_stack(&tail, &size, &next, &stack))
        take_stack(f, &stack);
}

static void take_module(struct frames *f, const struct trace_module *r)
{
    if (!r->module || !reach(f, (void **)&f->modules, &f->module_count, &f->module_room, r->module,
                             MODULES_MOST, sizeof(*f->modules)))
        f->left_out++;
    else
        f->modules[r->module] = names_get(&f->names, r->file);
}

static void take_mark(struct frames *f, const struct trace_mark *r)
{
    const char *name = names_get(&f->names, r->name);
    size_t each = sizeof(*f->profiled);

    if (r->sort != TRACE_MARK_PROFILED || !name || f->profiled_count == PROFILED_MOST)
        return;
    for (size_t i = 0; i < f->profiled_count; i++)
        if (strcmp(f->profiled[i], name) == 0)
            return;
    f->profiled = arena_grow(f->names.arena, f->profiled, f->profiled_count * each,
                             (f->profiled_count + 1) * each);
    f->profiled[f->profiled_count++] = name;
}

void frames_take(struct frames *f, const struct trace_event *ev)
{
    switch (ev->kind) {
    case TRACE_STRING:
        names_string(&f->names, ev);
        break;
    case TRACE_FRAME:
        take_frame(f, &ev->frame);
        break;
    case TRACE_NAME:
        take_name(f, &ev->name);
        break;
    case TRACE_STACK:
        take_stack(f, &ev->stack);
        break;
    case TRACE_STACKS:
        take_stacks(f, ev);
        break;
    case TRACE_MODULE:
        take_module(f, &ev->module);
        break;
    case TRACE_MARK:
        take_mark(f, &ev->mark);
        break;
    default:
        break;
    }
}

void frames_free(struct frames *f)
{
    names_seal(&f->names);
    free(f->frames);
    free(f->stacks);
    free(f->modules);
    f->frames = NULL;
    f->stacks = NULL;
    f->modules = NULL;
    f->frame_count = f->stack_count = f->module_count = f->gaps = 0;
}

static struct table_frame bare(const struct frames *f, uint64_t number)
{
    const struct frames_frame *frame = number && number <= f->frame_count ? &f->frames[number]
                                                                          : NULL;
    struct table_frame out = {0};

    if (!frame)
        return out;
    out.address = frame->address;
    switch (frame->flavour & 7) {
    case TRACE_FRAME_MODULE:
        if (frame->owner <= f->module_count && f->modules)
            out.module = f->modules[frame->owner];
        break;
    case TRACE_FRAME_ELIDED:
        out.flags = TABLE_FRAME_ELIDED;
        break;
    case TRACE_FRAME_CUT:
        out.flags = TABLE_FRAME_CUT;
        break;
    case TRACE_FRAME_PYTHON:
        out.flags = TABLE_FRAME_PYTHON;
        out.address = 0;
        break;
    default:
        break;
    }
    if (frame->flavour & TRACE_FRAME_GUESSED)
        out.flags |= TABLE_FRAME_GUESSED;
    return out;
}

size_t frames_expand(const struct frames *f, uint64_t frame, struct table_frame *out, size_t room)
{
    const struct frames_name *name = frame && frame <= f->frame_count ? f->frames[frame].names
                                                                      : NULL;
    size_t n = 0;

    out[0] = bare(f, frame);
    for (; name && n < room; name = name->next, n++) {
        out[n] = out[0];
        out[n].function = name->function;
        out[n].file = name->file;
        out[n].line = name->line;
        out[n].flags &= ~(unsigned int)TABLE_FRAME_INLINED;
        if (name->next)
            out[n].flags |= TABLE_FRAME_INLINED;
    }
    return n ? n : 1;
}

const struct table_stack *frames_stack(const struct frames *f, struct arena *a, uint64_t stack)
{
    struct table_frame names[FRAMES_INLINED_MOST], *all = NULL;
    struct table_stack *out;
    size_t count = 0, room = 0;

    for (; stack && stack <= f->stack_count && count < DEPTH_MOST;
         stack = f->stacks[stack].parent) {
        size_t n = frames_expand(f, f->stacks[stack].frame, names, FRAMES_INLINED_MOST);

        if (count + n > room) {
            size_t more = room ? room * 2 : 32;

            all = arena_grow(a, all, room * sizeof(*all), (more + n) * sizeof(*all));
            room = more + n;
        }
        if (n)
            memcpy(all + count, names, n * sizeof(*names));
        count += n;
    }
    if (!count)
        return NULL;
    out = arena_alloc(a, sizeof(*out));
    *out = (struct table_stack){(int)count, all};
    return out;
}

/* A file of CPython itself: libpython3.11.so.1.0, python3.11. */
static bool is_interpreter(const char *module)
{
    const char *base = module ? strrchr(module, '/') : NULL;

    base = base ? base + 1 : module;
    if (!base)
        return false;
    if (strncmp(base, "libpython", 9) == 0)
        return true;
    return strncmp(base, "python", 6) == 0 && base[6 + strspn(base + 6, "0123456789.dmt-")] == 0;
}

/* The first frame of Python from here outward, if the interpreter alone stands before it. */
static bool python_line(const struct frames *f, uint64_t stack, struct table_frame *line)
{
    for (; stack && stack <= f->stack_count; stack = f->stacks[stack].parent) {
        struct table_frame one;

        frames_expand(f, f->stacks[stack].frame, &one, 1);
        if (one.flags & TABLE_FRAME_PYTHON) {
            *line = one;
            return true;
        }
        if (!is_interpreter(one.module))
            return false;
    }
    return false;
}

bool frames_is_python(const struct frames *f, uint64_t frame)
{
    return frame && frame <= f->frame_count && (f->frames[frame].flavour & 7) == TRACE_FRAME_PYTHON;
}

static bool has_python(const struct frames *f, uint64_t stack)
{
    for (; stack && stack <= f->stack_count; stack = f->stacks[stack].parent) {
        if (frames_is_python(f, f->stacks[stack].frame))
            return true;
    }
    return false;
}

struct table_frame frames_site(const struct frames *f, uint64_t stack)
{
    struct table_frame names[FRAMES_INLINED_MOST], first = {0}, line;
    bool any = false;

    for (; stack && stack <= f->stack_count; stack = f->stacks[stack].parent) {
        size_t n = frames_expand(f, f->stacks[stack].frame, names, FRAMES_INLINED_MOST);

        if (!any)
            first = names[0];
        any = true;
        if (is_interpreter(names[0].module)) {
            if (python_line(f, stack, &line))
                return line;
            if (has_python(f, stack))
                continue; /* an extension has called it */
        }
        for (size_t i = 0; i < n; i++)
            if (!names[i].function || !frames_is_allocator(names[i].function))
                return names[i];
    }
    return first;
}

uint64_t frames_key(const struct table_frame *f)
{
    uint64_t key = intmap_mix(1, (uintptr_t)f->module);

    if (!f->function)
        return intmap_mix(intmap_mix(key, f->address), f->flags);
    return intmap_mix(intmap_mix(intmap_mix(key, (uintptr_t)f->function), (uintptr_t)f->file),
                      f->line);
}
