/* blame - see blame.h. Frames are looked at once each, then stacks, whose parents come first. */
#include "model/blame.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/boot.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define COLONS_MOST 16

struct blame_inner {
    struct intmap paths, kinds, lines, functions; /* texts are known by their place in memory */
    struct intmap modules;                        /* is it the system's? */
    struct intmap asked, hashes; /* what the program asks to show: a set; of files: their hash */
    size_t file_room, function_room, line_room;
    uint32_t *frame_line, *frame_function; /* by number of the frame; NONE: not in scope */
    uint8_t *frame_kind;                   /* enum scope_kind of its innermost name */
    uint32_t *first;                       /* its names: from first[frame] to first[frame + 1] */
    struct blame_name *all;
    size_t all_room;
};

static bool is_system(const struct blame *b, const char *module)
{
    uint64_t known;

    if (!module)
        return false;
    if (!intmap_get(&b->inner->modules, (uintptr_t)module, &known)) {
        known = scope_is_system(module);
        intmap_put(&b->inner->modules, (uintptr_t)module, known);
    }
    return known;
}

static enum scope_kind kind_of(const struct blame *b, const struct table_frame *f)
{
    bool python = f->flags & TABLE_FRAME_PYTHON, system = !python && is_system(b, f->module);
    uint64_t key = hash_mix((python ? 2u : 0u) + (system ? 1u : 0u), (uintptr_t)f->file), kind;

    if (!f->file || !f->line)
        return python ? SCOPE_GENERATED : SCOPE_NATIVE;
    if (!intmap_get(&b->inner->kinds, key, &kind)) {
        kind = python ? scope_of_python(b->scope, f->file)
                      : scope_of_native(b->scope, f->file, system ? f->module : NULL);
        intmap_put(&b->inner->kinds, key, kind);
    }
    return (enum scope_kind)kind;
}

static uint32_t file_of(struct blame *b, const struct table_frame *f)
{
    uint64_t place;

    if (intmap_get(&b->inner->paths, (uintptr_t)f->file, &place))
        return (uint32_t)place;
    place = b->file_count;
    memory_fit(b->files, b->inner->file_room, b->file_count + 1);
    b->files[b->file_count++] = (struct blame_file){f->file, kind_of(b, f),
                                                    (f->flags & TABLE_FRAME_PYTHON) != 0};
    intmap_put(&b->inner->paths, (uintptr_t)f->file, place);
    return (uint32_t)place;
}

static uint32_t function_of(struct blame *b, uint32_t file, const struct table_frame *f,
                            uint64_t first_line)
{
    uint64_t key = hash_mix(hash_mix(hash_mix(7, file), (uintptr_t)f->function), first_line), place;

    if (intmap_get(&b->inner->functions, key, &place))
        return (uint32_t)place;
    memory_fit(b->functions, b->inner->function_room, b->function_count + 1);
    b->functions[b->function_count] = (struct blame_function){f->function, file, first_line,
                                                              (f->flags & TABLE_FRAME_PYTHON) != 0};
    intmap_put(&b->inner->functions, key, b->function_count);
    return b->function_count++;
}

/* "<lambda>", "f.<locals>.<listcomp>" */
static bool is_inner(const char *name)
{
    size_t n = name ? strlen(name) : 0;

    return n && name[n - 1] == '>' && strcmp(name, "<module>") != 0;
}

/* A lambda or a comprehension shares its line with the function around it, which is what is shown.
 */
static bool is_better(const struct blame *b, uint32_t function, uint32_t than)
{
    return b->functions[function].python && is_inner(b->functions[than].name) &&
           !is_inner(b->functions[function].name);
}

static uint32_t line_of(struct blame *b, uint32_t file, uint32_t function, uint64_t line)
{
    uint64_t key = hash_mix(hash_mix(3, file), line), place;

    if (intmap_get(&b->inner->lines, key, &place)) {
        if (is_better(b, function, b->lines[place].function))
            b->lines[place].function = function;
        return (uint32_t)place;
    }
    memory_fit(b->lines, b->inner->line_room, b->line_count + 1);
    b->lines[b->line_count] = (struct blame_line){file, function, line};
    intmap_put(&b->inner->lines, key, b->line_count);
    return b->line_count++;
}

/* FILE:LINE:FUNCTION; the file may have colons itself. */
static void learn_asked(struct blame *b)
{
    for (size_t i = 0; i < b->frames->profiled_count; i++) {
        const char *asked = b->frames->profiled[i], *at = strchr(asked, ':');

        for (int colons = 0; at && colons < COLONS_MOST; colons++, at = strchr(at + 1, ':'))
            intmap_put(&b->inner->asked,
                       hash_mix(hash_bytes(HASH_START, asked, (size_t)(at - asked)),
                                strtoull(at + 1, NULL, 10)),
                       1);
    }
}

/* Where the program asks for some of its functions, the others are left out. */
static bool is_asked(const struct blame *b, const struct table_frame *f, uint64_t first)
{
    const struct scope_rules *rules = b->scope->rules;
    uint64_t hash, known;

    if (!b->frames->profiled_count || (rules && (rules->all || rules->only_count)))
        return true;
    if (!intmap_get(&b->inner->hashes, (uintptr_t)f->file, &hash)) {
        hash = hash_bytes(HASH_START, f->file, strlen(f->file));
        intmap_put(&b->inner->hashes, (uintptr_t)f->file, hash);
    }
    return intmap_get(&b->inner->asked, hash_mix(hash, first), &known);
}

static void add_name(struct blame *b, uint32_t *count, const struct table_frame *f, uint64_t first)
{
    uint32_t file = file_of(b, f), function = function_of(b, file, f, first);

    memory_fit(b->inner->all, b->inner->all_room, *count + 1);
    b->inner->all[(*count)++] = (struct blame_name){line_of(b, file, function, f->line), function};
}

/* One frame: its line is that of its innermost name in scope. */
static void look_at(struct blame *b, uint64_t frame, uint32_t *count)
{
    struct table_frame names[FRAMES_INLINED_MOST];
    uint32_t before = *count;
    size_t n = frames_expand(b->frames, frame, names, FRAMES_INLINED_MOST);

    b->inner->frame_line[frame] = NONE;
    b->inner->frame_kind[frame] = (uint8_t)kind_of(b, &names[0]);
    for (size_t i = 0; i < n; i++) {
        uint64_t first = names[i].flags & TABLE_FRAME_PYTHON ? b->frames->frames[frame].address : 0;

        if (!names[i].file || !names[i].line || kind_of(b, &names[i]) != SCOPE_OWN)
            continue;
        if (!is_asked(b, &names[i], first)) {
            b->inner->frame_kind[frame] = SCOPE_LEFT_OUT;
            continue;
        }
        add_name(b, count, &names[i], first);
    }
    if (*count == before)
        return;
    b->inner->frame_line[frame] = b->inner->all[before].line;
    b->inner->frame_function[frame] = b->inner->all[before].function;
}

static void look_at_frames(struct blame *b)
{
    size_t frames = b->frames->frame_count;
    uint32_t count = 0;

    b->inner->frame_line = memory_zeroed((frames + 1) * sizeof(*b->inner->frame_line));
    b->inner->frame_function = memory_zeroed((frames + 1) * sizeof(*b->inner->frame_function));
    b->inner->frame_kind = memory_zeroed((frames + 1) * sizeof(*b->inner->frame_kind));
    b->inner->first = memory_zeroed((frames + 2) * sizeof(*b->inner->first));
    b->inner->frame_line[0] = NONE;
    b->inner->frame_kind[0] = SCOPE_NATIVE;
    for (uint64_t i = 1; i <= frames; i++) {
        b->inner->first[i] = count;
        look_at(b, i, &count);
    }
    b->inner->first[frames + 1] = count;
}

/* What a stack without any line in scope is: the kind of its innermost Python, else native. */
static uint32_t kind_of_stack(const struct blame *b, size_t stack)
{
    const struct frames_stack *s = &b->frames->stacks[stack];
    uint32_t kind = b->inner->frame_kind[s->frame];

    if (frames_is_python(b->frames, s->frame))
        return kind;
    if (b->python[stack])
        return b->of_stack[s->parent];
    return kind == SCOPE_LEFT_OUT ? SCOPE_LEFT_OUT : SCOPE_NATIVE;
}

/* The line of a stack is its own frame's, or its parent's; Python goes before native code. */
static void look_at_stacks(struct blame *b)
{
    size_t stacks = b->frames->stack_count;
    uint8_t *boot = boot_frames(b->frames), *booting = memory_zeroed(stacks + 1);
    uint32_t *native = memory_zeroed((stacks + 1) * sizeof(*native)); /* frames; 0: none */
    uint32_t *python = memory_zeroed((stacks + 1) * sizeof(*python));

    b->of_stack = memory_zeroed((stacks + 1) * sizeof(*b->of_stack));
    b->function_of = memory_zeroed((stacks + 1) * sizeof(*b->function_of));
    b->python = memory_zeroed((stacks + 1) * sizeof(*b->python));
    b->of_stack[0] = SCOPE_OWN;
    b->function_of[0] = NONE;
    for (size_t i = 1; i <= stacks; i++) {
        const struct frames_stack *s = &b->frames->stacks[i];
        bool own = frames_is_python(b->frames, s->frame);
        bool in_scope = b->inner->frame_line[s->frame] != NONE;
        uint32_t frame;

        booting[i] = booting[s->parent] || boot[s->frame] == BOOT_BEGINS;
        if (booting[i] &&
            boot[s->frame] == BOOT_WITHOUT_FILE) { /* its caller's, whatever was typed in */
            b->of_stack[i] = b->of_stack[s->parent];
            b->function_of[i] = b->function_of[s->parent];
            b->python[i] = true;
            python[i] = python[s->parent];
            native[i] = native[s->parent];
            continue;
        }
        b->python[i] = own || b->python[s->parent];
        python[i] = own && in_scope ? s->frame : python[s->parent];
        native[i] = !own && in_scope ? s->frame : native[s->parent];
        frame = python[i] ? python[i] : native[i];
        b->of_stack[i] = frame ? b->inner->frame_line[frame] : kind_of_stack(b, i);
        b->function_of[i] = frame ? b->inner->frame_function[frame] : NONE;
    }
    free(native);
    free(python);
    free(boot);
    free(booting);
}

/* ---- what the stacks say of the scope ---- */

enum start { BEFORE, IN_RUNPY, AFTER }; /* the program's own first line, going inward */

static bool is_runpy(const char *file)
{
    return strcmp(text_base(file), "runpy.py") == 0 || strcmp(file, "<frozen runpy>") == 0;
}

/* The outermost Python of a stack is the module that was run, or runpy before it (-m). */
static enum start start_of(struct blame *b, uint32_t frame)
{
    const struct frames_name *name = b->frames->frames[frame].names;

    if (!name || !name->file)
        return AFTER;
    if (is_runpy(name->file))
        return IN_RUNPY;
    if (name->file[0] != '<' && name->function && strcmp(name->function, "<module>") == 0)
        scope_program(b->scope, name->file);
    return AFTER;
}

static void settle_file(struct scope *s, const char *file)
{
    if (!s->others)
        scope_settle(s, file);
}

/* Each file of Python once. */
static void each_file(struct blame *b, void (*look)(struct scope *s, const char *file))
{
    const struct frames *f = b->frames;
    struct intmap seen = {0};
    uint64_t known;

    for (size_t i = 1; i <= f->frame_count; i++) {
        const char *file = frames_is_python(f, i) && f->frames[i].names ? f->frames[i].names->file
                                                                        : NULL;

        if (!file || intmap_get(&seen, (uintptr_t)file, &known))
            continue;
        intmap_put(&seen, (uintptr_t)file, 1);
        look(b->scope, file);
    }
    intmap_free(&seen);
}

static void learn(struct blame *b)
{
    const struct frames *f = b->frames;
    uint8_t *starts = memory_zeroed(f->stack_count + 1);
    uint8_t *frames = memory_zeroed(f->frame_count + 1); /* enum start; 0: not looked at */

    each_file(b, scope_learn);
    for (size_t i = 1; i <= f->stack_count; i++) {
        enum start outer = (enum start)starts[f->stacks[i].parent];
        uint32_t frame = f->stacks[i].frame;

        starts[i] = (uint8_t)outer;
        if (outer == AFTER || !frames_is_python(f, frame))
            continue;
        if (!frames[frame])
            frames[frame] = (uint8_t)start_of(b, frame);
        starts[i] = frames[frame];
    }
    free(starts);
    free(frames);
    each_file(b, settle_file);
}

void blame_read(struct blame *b, const struct frames *f, struct scope *s)
{
    *b = (struct blame){.frames = f, .scope = s, .inner = memory_zeroed(sizeof(*b->inner))};
    for (int i = 0; i < SCOPE_KINDS; i++) {
        memory_fit(b->lines, b->inner->line_room, b->line_count + 1);
        b->lines[b->line_count++] = (struct blame_line){NONE, NONE, 0};
    }
    learn(b);
    learn_asked(b);
    look_at_frames(b);
    look_at_stacks(b);
}

void blame_free(struct blame *b)
{
    intmap_free(&b->inner->paths);
    intmap_free(&b->inner->kinds);
    intmap_free(&b->inner->modules);
    intmap_free(&b->inner->asked);
    intmap_free(&b->inner->hashes);
    intmap_free(&b->inner->lines);
    intmap_free(&b->inner->functions);
    free(b->inner->frame_line);
    free(b->inner->frame_function);
    free(b->inner->frame_kind);
    free(b->inner->first);
    free(b->inner->all);
    free(b->inner);
    free(b->files);
    free(b->functions);
    free(b->lines);
    free(b->of_stack);
    free(b->function_of);
    free(b->python);
}

uint32_t blame_stack(const struct blame *b, uint64_t stack)
{
    return stack <= b->frames->stack_count ? b->of_stack[stack] : SCOPE_OWN;
}

uint32_t blame_function(const struct blame *b, uint64_t stack)
{
    return stack <= b->frames->stack_count ? b->function_of[stack] : NONE;
}

uint32_t blame_creator(const struct blame *b, uint64_t creator)
{
    uint32_t line = blame_stack(b, creator);

    if (line < SCOPE_KINDS || !b->files[b->lines[line].file].python)
        return NONE;
    return line;
}

bool blame_is_foreign(const struct blame *b, uint64_t stack)
{
    return stack > b->frames->stack_count || !b->python[stack];
}

size_t blame_names(const struct blame *b, uint64_t frame, const struct blame_name **names)
{
    if (!frame || frame > b->frames->frame_count)
        return 0;
    if (b->inner->first[frame + 1] == b->inner->first[frame])
        return 0; /* of none, there may not even be a list */
    *names = b->inner->all + b->inner->first[frame];
    return b->inner->first[frame + 1] - b->inner->first[frame];
}
