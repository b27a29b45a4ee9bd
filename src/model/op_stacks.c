/* op_stacks - see op_stacks.h. */
#include "model/op_stacks.h"

#include "base/memory.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MOST 4096
#define MODULES_MOST 32   /* classes of a path */
#define MODULES_BYTES 512 /* and their text */
#define MAKERS_MOST 8     /* objects that are made in the course of making others */

struct op_names { /* what a frame means: one for each of its names that means something */
    struct op_name {
        struct op_found found;
        const char *function, *file; /* of a line of Python */
        uint64_t line;
    } list[4];
    int count;
    bool python;
};

/* Frames of which one thing alone is to be known, so that most are passed over by a look at one
 * byte. */
enum op_plain { PLAIN_UNSEEN, PLAIN_NATIVE, PLAIN_PYTHON, PLAIN_NOT };

const char *op_phase_text(enum op_phase phase)
{
    static const char *const texts[] = {
        [OP_PHASE_OTHER] = "other",         [OP_PHASE_BUILD] = "build",
        [OP_PHASE_FORWARD] = "forward",     [OP_PHASE_BACKWARD] = "backward",
        [OP_PHASE_RECOMPUTE] = "recompute", [OP_PHASE_OPTIMIZER] = "optimizer"};

    return texts[phase];
}

void op_stacks_start(struct op_stacks *s, const struct frames *f, struct arena *a)
{
    *s = (struct op_stacks){.frames = f, .arena = a, .kept = {.arena = a}};
}

/* When the first stack is asked for: of several that are alike, one describes. */
static void make_room(struct op_stacks *s)
{
    s->meanings = memory_zeroed((s->frames->frame_count + 1) * sizeof(*s->meanings));
    s->plain = memory_zeroed(s->frames->frame_count + 1);
    s->known = memory_zeroed((s->frames->stack_count + 1) * sizeof(struct op_stack *));
}

void op_stacks_free(struct op_stacks *s)
{
    op_kept_free(&s->kept);
    free(s->known);
    free(s->plain);
    free(s->meanings);
    free(s->found);
    *s = (struct op_stacks){0};
}

/* ---- frames ---- */

static void look_at(const struct op_stacks *s, uint32_t frame, struct op_names *out)
{
    struct table_frame names[FRAMES_INLINED_MOST];
    size_t count = frames_expand(s->frames, frame, names, FRAMES_INLINED_MOST);

    *out = (struct op_names){.python = frames_is_python(s->frames, frame)};
    while (count-- && out->count < 4) {
        struct op_found found = op_rules_find(&names[count]);

        if (found.meaning || out->python)
            out->list[out->count++] = (struct op_name){found, names[count].function,
                                                       names[count].file, names[count].line};
    }
}

static enum op_plain plain_of(const struct op_names *n)
{
    for (int i = 0; i < n->count; i++)
        if (n->list[i].found.meaning)
            return PLAIN_NOT;
    return n->python ? PLAIN_PYTHON : PLAIN_NATIVE;
}

static const struct op_names *names_of(struct op_stacks *s, uint32_t frame)
{
    if (!s->meanings[frame]) {
        memory_fit(s->found, s->found_room, s->found_count + 1);
        look_at(s, frame, &s->found[s->found_count++]);
        s->meanings[frame] = (uint32_t)s->found_count;
        s->plain[frame] = (unsigned char)plain_of(&s->found[s->found_count - 1]);
    }
    return &s->found[s->meanings[frame] - 1];
}

/* ---- stacks ---- */

struct describing {
    struct op_stacks *stacks;
    struct op_stack *out;
    uint64_t caller; /* the stack without the frame that is being looked at, and what that calls */
    bool called;     /* the next line of Python is that of a module, */
    bool wrapped;    /* or one that stands before it: then its `forward` is yet to come */
    bool stepping;   /* the optimizer is not within the engine of gradients */
    bool outermost;  /* no operator was met since the last line of Python */
    struct op_class *makers[MAKERS_MOST];
    int maker_count;
    char modules[MODULES_BYTES];
    size_t length;
    int count;
};

static void add_module(struct describing *d, const char *name, size_t length)
{
    if (!length || d->count == MODULES_MOST || d->length + length + 1 >= sizeof(d->modules))
        return;
    if (d->count++)
        d->modules[d->length++] = '/';
    memcpy(d->modules + d->length, name, length);
    d->length += length;
}

/* The class of "outer.<locals>.Net.forward" is Net. */
static void add_class(struct describing *d, const char *function)
{
    const char *end = function ? strrchr(function, '.') : NULL, *begin = end;

    while (begin && begin > function && begin[-1] != '.')
        begin--;
    if (!end || *begin == '<') /* "f.<locals>.g" is no method */
        return;
    add_module(d, begin, (size_t)(end - begin));
    op_kept_class(&d->stacks->kept, begin, (size_t)(end - begin))->module = true;
}

static void add_maker(struct describing *d, const struct op_found *found)
{
    struct op_class *c = op_kept_class(&d->stacks->kept, found->name, found->length);

    d->out->maker = c;
    if (d->maker_count < MAKERS_MOST)
        d->makers[d->maker_count++] = c;
}

/* Of "f.<locals>.wrapper", as decorators make them, what it wraps is called by it. */
static bool is_wrapper(const char *function)
{
    const char *end = function ? strrchr(function, '.') : NULL;

    return end && end - function >= 8 && strncmp(end - 8, "<locals>", 8) == 0;
}

static bool is_forward(const char *function)
{
    const char *end = function ? strrchr(function, '.') : NULL;

    return end && strcmp(end, ".forward") == 0;
}

static void take_called(struct describing *d, const char *function)
{
    d->wrapped |= is_wrapper(function);
    if (!d->wrapped || is_forward(function))
        add_class(d, function);
    d->called = d->wrapped && !is_forward(function);
    d->wrapped = d->called;
}

/* Who makes a module is taken for one: a part of a model that is never called itself. */
static void settle_makers(struct describing *d)
{
    bool module = d->out->phase == OP_PHASE_BUILD;

    while (d->maker_count--) {
        module |= d->makers[d->maker_count]->module;
        d->makers[d->maker_count]->module = module;
    }
}

/* A module that is called to compute gradients gives activations again; one that is called while
 * another is made, as to normalize weights, is of that.
 */
static enum op_phase phase_of_call(enum op_phase now)
{
    if (now == OP_PHASE_BACKWARD || now == OP_PHASE_RECOMPUTE)
        return OP_PHASE_RECOMPUTE;
    return now == OP_PHASE_BUILD ? OP_PHASE_BUILD : OP_PHASE_FORWARD;
}

/* Compiled code: the kernel that the line makes a buffer for, if the trace has that file, and the
 * line itself. */
static void set_compiled(struct describing *d, const struct op_name *n)
{
    const char *file = n->file ? n->file : "", *name;
    size_t length = 0;
    const char *kernel = generated_kernel(&d->stacks->frames->generated, file, n->line, &length);

    name = arena_printf(d->stacks->arena, "inductor %.*s%s%s:%" PRIu64, (int)length,
                        kernel ? kernel : "", kernel ? " " : "", text_base(file), n->line);
    d->out->op = d->out->called = op_kept_text(&d->stacks->kept, name, strlen(name));
}

static void set_op(struct describing *d, const struct op_name *n)
{
    if (n->found.meaning == OP_COMPILED) {
        set_compiled(d, n);
        return;
    }
    d->out->op = op_kept_text(&d->stacks->kept, n->found.name, n->found.length);
    if (d->outermost)
        d->out->called = d->out->op;
    d->outermost = false;
}

static void set_node(struct describing *d, const struct op_name *n)
{
    if (n->found.length != 4 || strncmp(n->found.name, "Node", 4) != 0)
        d->out->node = op_kept_text(&d->stacks->kept, n->found.name, n->found.length);
}

static void set_phase(struct describing *d, const struct op_name *n)
{
    enum op_phase *phase = &d->out->phase;

    if (n->found.meaning == OP_BACKWARD)
        *phase = OP_PHASE_BACKWARD;
    else if (n->found.meaning == OP_OPTIMIZER)
        *phase = OP_PHASE_OPTIMIZER;
    else if (n->found.meaning == OP_CALL)
        *phase = phase_of_call(*phase);
    else if ((n->found.meaning == OP_BUILD || n->found.meaning == OP_SHARD) &&
             *phase == OP_PHASE_OTHER)
        *phase = OP_PHASE_BUILD;
    else if (n->found.meaning == OP_PARAMETER && *phase == OP_PHASE_FORWARD)
        *phase = OP_PHASE_BUILD;
    else if (n->found.meaning == OP_PARAMETER && *phase == OP_PHASE_OTHER)
        *phase = OP_PHASE_BUILD;
}

/* "step" or, from Python 3.11 on, "LBFGS.step". */
static bool is_step(const char *function)
{
    size_t length = function ? strlen(function) : 0;

    return length >= 4 && !strcmp(function + length - 4, "step") &&
           (length == 4 || function[length - 5] == '.');
}

static void take_name(struct describing *d, const struct op_name *n)
{
    struct op_stack *out = d->out;
    enum op_meaning meaning = n->found.meaning;

    if (n->found.framework)
        out->framework = n->found.framework;
    set_phase(d, n);
    if (!out->entered && (meaning == OP_OPTIMIZER || meaning == OP_BACKWARD)) {
        out->entered = d->caller;
        d->stepping = meaning == OP_OPTIMIZER;
    }
    if (d->stepping && !out->step_line && meaning == OP_OPTIMIZER && is_step(n->function))
        out->step_line = n->line;
    if (meaning == OP_NAMED || meaning == OP_COMPILED)
        set_op(d, n);
    if (meaning == OP_NODE)
        set_node(d, n);
    if ((meaning == OP_BUILD || meaning == OP_MADE) && n->found.length && !d->called)
        add_module(d, n->found.name, n->found.length);
    out->tensor |= meaning == OP_TENSOR;
    out->workspace |= meaning == OP_WORKSPACE && out->op; /* not what a library begins with */
    out->reserve |= meaning == OP_RESERVE;
    if (meaning == OP_MADE)
        add_maker(d, &n->found);
    out->data |= meaning == OP_DATA;
    out->bucket |= meaning == OP_BUCKET;
    out->shard |= meaning == OP_SHARD;
}

static void take_frame(struct describing *d, const struct op_names *names)
{
    d->out->native |= !names->python;
    if (names->python)
        d->outermost = true;
    for (int i = 0; i < names->count; i++) {
        const struct op_name *n = &names->list[i];

        take_name(d, n);
        if (!names->python || n->found.meaning == OP_CALL) {
            d->called |= n->found.meaning == OP_CALL;
            d->wrapped &= n->found.meaning != OP_CALL;
            continue;
        }
        if (d->called)
            take_called(d, n->function);
    }
}

/* Does a frame change no more than this? A line of Python that a module may be called by does. */
static bool pass_over(struct describing *d, unsigned char plain)
{
    d->out->native |= plain == PLAIN_NATIVE;
    d->outermost |= plain == PLAIN_PYTHON;
    return plain == PLAIN_NATIVE || (plain == PLAIN_PYTHON && !d->called);
}

/* On a device a framework has its tensors, and little besides: no allocator of one vendor has to be
 * known. Stacks of Python alone are those of a snapshot of its pool, which has nothing else.
 */
static bool is_of_tensor(const struct frames *f, const struct op_stack *o)
{
    return !o->reserve && !o->workspace &&
           (o->tensor || (f->of_device && o->framework) || (f->imported && !o->native));
}

static void describe(struct op_stacks *s, uint64_t stack, struct op_stack *out)
{
    const struct frames *f = s->frames;
    uint64_t chain[DEPTH_MOST];
    struct describing d = {.stacks = s, .out = out, .outermost = true};
    size_t depth = 0;

    for (; stack && stack <= f->stack_count && depth < DEPTH_MOST; stack = f->stacks[stack].parent)
        chain[depth++] = stack;
    while (depth--) {
        /* cppcheck-suppress uninitvar ; not before it was put there */
        uint32_t frame = f->stacks[chain[depth]].frame;

        d.caller = f->stacks[chain[depth]].parent;
        if (frame <= f->frame_count && !pass_over(&d, s->plain[frame]))
            take_frame(&d, names_of(s, frame));
    }
    settle_makers(&d);
    if (d.length)
        out->modules = op_kept_text(&s->kept, d.modules, d.length);
    out->tensor = is_of_tensor(s->frames, out);
}

/* ---- what many stacks have in common ---- */

/* Does its innermost frame say nothing, whatever called it? */
static bool ends_plainly(struct op_stacks *s, uint64_t stack)
{
    uint32_t frame = s->frames->stacks[stack].frame;

    if (frame > s->frames->frame_count)
        return true;
    if (s->plain[frame] == PLAIN_UNSEEN)
        names_of(s, frame);
    return s->plain[frame] == PLAIN_NATIVE;
}

/* As `describe`: by what is known of who called native code that says nothing. */
static void derive(struct op_stacks *s, uint64_t stack, struct op_stack *out)
{
    const struct frames *f = s->frames;
    uint64_t from = stack;

    while (from && !f->imported && !f->of_device && ends_plainly(s, from))
        from = f->stacks[from].parent;
    if (from == stack) {
        describe(s, stack, out);
    } else {
        *out = *op_stacks_common(s, from);
        out->native = true;
        out->sited = false;
    }
    out->outside = frames_is_outside(f, stack);
    out->frames = f;
    out->stack = stack;
}

const struct op_stack *op_stacks_common(struct op_stacks *s, uint64_t stack)
{
    struct op_stack one = {0};

    if (s->like)
        return op_stacks_common(s->like, stack);
    if (!s->known)
        make_room(s);
    stack = stack <= s->frames->stack_count ? stack : 0; /* of neither anything is known */
    if (s->known[stack])
        return s->known[stack];
    derive(s, stack, &one);
    if (!one.tensor) {
        one.stack = one.entered = 0;
        s->known[stack] = op_kept_stack(&s->kept, &one);
    } else {
        s->known[stack] = arena_alloc(s->arena, sizeof(one));
        *s->known[stack] = one;
    }
    return s->known[stack];
}

const struct op_stack *op_stacks_get(struct op_stacks *s, uint64_t stack)
{
    const struct op_stack *common = op_stacks_common(s, stack);
    struct op_stack *own;

    if (s->like)
        return op_stacks_get(s->like, stack);
    if (common->stack == stack || stack > s->frames->stack_count)
        return common;
    own = arena_alloc(s->arena, sizeof(*own));
    describe(s, stack, own);
    own->outside = common->outside;
    own->frames = s->frames;
    own->stack = stack;
    s->known[stack] = own;
    return own;
}

const struct table_frame *op_stack_site(const struct op_stack *o)
{
    struct op_stack *ours = (struct op_stack *)(uintptr_t)o; /* it is in the arena */

    if (!o->sited) {
        ours->site = frames_site(o->frames, o->stack);
        ours->sited = true;
    }
    return &o->site;
}
