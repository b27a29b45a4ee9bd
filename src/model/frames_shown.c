/* frames_shown - see frames.h: what frames and stacks read like, and which frame is the site. */
#include "base/hash.h"
#include "base/memory.h"
#include "model/frames.h"
#include "model/plumbing.h"

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
    case TRACE_FRAME_OUTSIDE:
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

/* So many names, and one for what is cut. */
static size_t count_names(const struct frames *f, uint64_t stack)
{
    size_t count = 0;

    for (; stack && stack <= f->stack_count; stack = f->stacks[stack].parent) {
        uint64_t frame = f->stacks[stack].frame;
        const struct frames_name *name = frame && frame <= f->frame_count ? f->frames[frame].names
                                                                          : NULL;

        count += (size_t)!name + f->stacks[stack].cut;
        for (; name; name = name->next)
            count++;
    }
    return count;
}

const struct table_stack *frames_stack(const struct frames *f, struct arena *a, uint64_t stack)
{
    size_t room = count_names(f, stack), count = 0;
    struct table_stack *out;
    struct table_frame *all;

    if (!room)
        return NULL;
    out = arena_alloc(a, sizeof(*out));
    all = arena_alloc(a, room * sizeof(*all));
    for (; stack && stack <= f->stack_count; stack = f->stacks[stack].parent) {
        if (count < room)
            count += frames_expand(f, f->stacks[stack].frame, all + count, room - count);
        if (f->stacks[stack].cut && count < room)
            all[count++].flags = TABLE_FRAME_CUT;
    }
    plumbing_mark(all, (int)count);
    *out = (struct table_stack){.count = (int)count, .own = (int)count, .frames = all};
    return out;
}

static bool is_of(const struct frames *f, uint64_t frame, enum trace_flavour flavour)
{
    return frame && frame <= f->frame_count && (f->frames[frame].flavour & 7) == flavour;
}

bool frames_is_python(const struct frames *f, uint64_t frame)
{
    return is_of(f, frame, TRACE_FRAME_PYTHON);
}

bool frames_is_generated(const struct frames *f, uint64_t frame)
{
    return is_of(f, frame, TRACE_FRAME_ADDRESS);
}

bool frames_is_outside(const struct frames *f, uint64_t stack)
{
    return stack && stack <= f->stack_count &&
           is_of(f, f->stacks[stack].frame, TRACE_FRAME_OUTSIDE);
}

/* How well a line of Python answers whose work it is; 0: not at all. */
static int standing(const struct frames *f, uint64_t frame)
{
    const struct frames_name *name = f->frames[frame].names;

    if (!frames_is_python(f, frame) || !name)
        return 0;
    return name->scope == SCOPE_OWN ? 3 : name->scope == SCOPE_GENERATED ? 2 : 1;
}

static struct table_frame python_site(const struct frames *f, uint64_t stack)
{
    struct table_frame site = {0};

    for (int best = 0; stack && best < 3; stack = f->stacks[stack].parent) {
        int now = standing(f, f->stacks[stack].frame);

        if (now > best) {
            best = now;
            frames_expand(f, f->stacks[stack].frame, &site, 1);
        }
    }
    return site;
}

/* How well native code answers where memory is from. */
enum site_rank { SITE_ALLOCATOR, SITE_PLUMBING, SITE_NAMELESS, SITE_GOOD };

static enum site_rank rank(const struct table_frame *f)
{
    if (!plumbing_is(f))
        return SITE_GOOD;
    if (plumbing_is_nameless(f))
        return SITE_NAMELESS;
    return f->function &&
                   (plumbing_is_allocator(f->function) || plumbing_is_interpreters_allocator(f))
             ? SITE_ALLOCATOR
             : SITE_PLUMBING;
}

/* The innermost of those that answer best. */
static struct table_frame native_site(const struct frames *f, uint64_t stack)
{
    struct table_frame names[FRAMES_INLINED_MOST], best = {0};
    bool any = false;

    for (enum site_rank most = SITE_ALLOCATOR; stack && most < SITE_GOOD;
         stack = f->stacks[stack].parent) {
        size_t n = frames_expand(f, f->stacks[stack].frame, names, FRAMES_INLINED_MOST);

        for (size_t i = 0; i < n && most < SITE_GOOD; i++) {
            enum site_rank now = rank(&names[i]);

            if (any && now <= most)
                continue;
            best = names[i];
            most = now;
            any = true;
        }
    }
    return best;
}

struct table_frame frames_site(const struct frames *f, uint64_t stack)
{
    struct table_frame site = {0};

    if (!stack || stack > f->stack_count)
        return site;
    site.function = frames_arena(f, stack);
    if (site.function)
        return site;
    if (f->stacks[stack].python)
        site = python_site(f, stack);
    return site.function || site.file ? site : native_site(f, stack);
}

uint64_t frames_key(const struct table_frame *f)
{
    uint64_t key = hash_mix(1, (uintptr_t)f->module);

    if (!f->function)
        return hash_mix(hash_mix(key, f->address), f->flags);
    return hash_mix(hash_mix(hash_mix(key, (uintptr_t)f->function), (uintptr_t)f->file), f->line);
}

/* A parent comes before its children. */
uint64_t *frames_stack_keys(const struct frames *f, uint64_t (*key)(const struct table_frame *f))
{
    uint64_t *keys = memory_zeroed((f->stack_count + 1) * sizeof(*keys));
    struct table_frame names[FRAMES_INLINED_MOST];

    for (size_t i = 1; i <= f->stack_count; i++) {
        size_t n = frames_expand(f, f->stacks[i].frame, names, FRAMES_INLINED_MOST);

        keys[i] = hash_mix(keys[f->stacks[i].parent], n);
        while (n--)
            keys[i] = hash_mix(keys[i], key(&names[n]));
    }
    return keys;
}
