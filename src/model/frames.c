/* frames - see frames.h: taking them from a trace. Numbers come from a file: a parent is always an
 * earlier stack, so no walk goes in circles, and a number may not be far above those that are
 * known.
 */
#include "model/frames.h"

#include "base/memory.h"
#include "model/allowed.h"
#include "model/plumbing.h"
#include "trace/batch.h"

#include <stdlib.h>
#include <string.h>

#define STACKS_MOST ((size_t)1 << 26) /* a build or deep imports have 12 million */
#define FRAMES_MOST ((size_t)1 << 23)
#define MODULES_MOST ((size_t)1 << 20)
#define PROFILED_MOST 4096
#define DEPTH_MOST 4096 /* frames of a stack; recorders stop at half of that */

/* Whether number `want` may be there; then there are as many. False: it is above the limits. */
static bool reach(struct frames *f, size_t *count, uint64_t want, size_t most)
{
    size_t gap = want > *count ? (size_t)want - *count - 1 : 0;

    if (want > most || want > ALLOWED_THINGS(f->names->file_bytes) + f->gaps + gap ||
        gap > ALLOWED_GAPS(f->names->file_bytes) - f->gaps)
        return false;
    f->gaps += gap;
    if (want > *count)
        *count = (size_t)want;
    return true;
}

static void take_frame(struct frames *f, const struct trace_frame *r)
{
    struct frames_frame *frame;

    if (!r->frame || !reach(f, &f->frame_count, r->frame, FRAMES_MOST)) {
        f->left_out++;
        return;
    }
    memory_fit_zeroed(f->frames, f->frame_room, f->frame_count + 1);
    frame = &f->frames[r->frame];
    frame->flavour = (uint32_t)r->flavour;
    frame->owner = r->process;
    frame->address = r->address;
}

/* By its path alone: what the command line says of it comes later. */
static enum scope_kind scope_of(struct frames *f, uint64_t number, const char *file)
{
    static const struct scope nothing_known;
    uint64_t kind;

    if (!file || !*file)
        return SCOPE_GENERATED;
    if (!intmap_get(&f->scopes, number, &kind)) {
        kind = scope_of_python(&nothing_known, file);
        intmap_put(&f->scopes, number, kind);
    }
    return (enum scope_kind)kind;
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
    name = arena_alloc(f->names->arena, sizeof(*name));
    *name = (struct frames_name){
        .depth = r->depth,
        .line = r->line,
        .function = names_get(f->names, r->function),
        .file = names_get(f->names, r->file),
        .next = *at,
    };
    if (frames_is_python(f, r->frame))
        name->scope = scope_of(f, r->file, name->file);
    if (name->function && plumbing_reserves(name->function))
        f->frames[r->frame].reserves = true;
    *at = name;
}

/* May this stack be on top of its parent? Otherwise it stands alone. */
static bool is_admitted(struct frames *f, unsigned int depth)
{
    if (depth > DEPTH_MOST || f->depths + depth > ALLOWED_DEPTHS(f->names->file_bytes))
        return false;
    f->depths += depth;
    return true;
}

/* The first definition counts, also that of a parent which is not known by now: what is known of a
 * stack's depth stays true.
 */
static void define_stack(struct frames *f, const struct trace_stack *r)
{
    struct frames_stack *stack = &f->stacks[r->stack], *parent = &f->stacks[r->parent];
    bool python = frames_is_python(f, r->frame) || (r->parent && parent->python);

    if (r->parent && !parent->depth)
        parent->depth = 1;
    if (stack->depth) {
        f->left_out++;
        return;
    }
    if (is_admitted(f, 1 + (r->parent ? parent->depth : 0u))) {
        *stack = (struct frames_stack){(uint32_t)r->parent, (uint32_t)r->frame,
                                       (uint16_t)(1 + (r->parent ? parent->depth : 0u)), python,
                                       false};
    } else {
        *stack = (struct frames_stack){0, (uint32_t)r->frame, 1, python, true};
        f->cut++;
    }
}

static void take_stack(struct frames *f, const struct trace_stack *r)
{
    size_t before = f->stacks ? f->stack_count + 1 : 0;

    if (!r->stack || r->parent >= r->stack || r->frame > f->frame_count ||
        !reach(f, &f->stack_count, r->stack, STACKS_MOST)) {
        f->left_out++;
        return;
    }
    memory_extend(f->stacks, f->stack_room, before, f->stack_count + 1);
    define_stack(f, r);
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
    if (!r->module || !reach(f, &f->module_count, r->module, MODULES_MOST)) {
        f->left_out++;
        return;
    }
    memory_fit_zeroed(f->modules, f->module_room, f->module_count + 1);
    f->modules[r->module] = names_get(f->names, r->file);
}

/* Why functions of a module have no name; and of a file of another tool, that it is one. */
static void take_fact(struct frames *f, const struct trace_event *ev)
{
    const char *key = names_get(f->names, ev->fact.key);

    f->imported |= ev->fact.subject == TRACE_OF_RUN && key && !strcmp(key, FACT_IMPORTED);
    if (ev->fact.subject != TRACE_OF_MODULE || !key || strcmp(key, FACT_UNNAMED) != 0 ||
        !ev->fact.id || ev->fact.id > f->module_count)
        return;
    memory_fit_zeroed(f->unnamed, f->unnamed_room, f->module_count + 1);
    f->unnamed[ev->fact.id] = names_keep(f->names, ev->tail, ev->tail_bytes);
}

static void take_mark(struct frames *f, const struct trace_mark *r)
{
    const char *name = names_get(f->names, r->name);
    uint64_t known;

    if (r->mark_kind != TRACE_MARK_PROFILED || !name || f->profiled_count == PROFILED_MOST ||
        intmap_get(&f->profiled_known, (uintptr_t)name, &known))
        return;
    intmap_put(&f->profiled_known, (uintptr_t)name, 1);
    arena_fit(f->names->arena, f->profiled, f->profiled_room, f->profiled_count + 1);
    f->profiled[f->profiled_count++] = name;
}

void frames_take(struct frames *f, const struct trace_event *ev)
{
    switch (ev->kind) {
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
    case TRACE_FACT:
        take_fact(f, ev);
        break;
    case TRACE_SOURCE:
        generated_take(&f->generated, f->names, ev);
        break;
    default:
        break;
    }
}

void frames_free(struct frames *f)
{
    free(f->frames);
    free(f->stacks);
    free(f->modules);
    intmap_free(&f->scopes);
    generated_free(&f->generated);
    free(f->unnamed);
    frames_unshare(f);
    intmap_free(&f->profiled_known);
    f->frames = NULL;
    f->stacks = NULL;
    f->modules = NULL;
    f->unnamed = NULL;
    f->unnamed_room = 0;
    f->frame_count = f->stack_count = f->module_count = 0;
    f->frame_room = f->stack_room = f->module_room = 0;
    f->gaps = f->depths = f->cut = 0;
}
