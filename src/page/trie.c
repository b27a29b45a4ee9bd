/* trie - see trie.h. */
#include "page/trie.h"

#include "base/count.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/allowed.h"
#include "model/plumbing.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NODE_BITS 32

struct named { /* the names of a frame of the trace, the outermost first */
    uint32_t first, count;
    bool known, machinery;
};

struct trie_pass {
    struct named *names; /* by frame */
    uint32_t *list;      /* what their `first` is a place of: trie frames */
    size_t list_count, list_room;
    struct intmap known; /* hash of a frame -> its place */
    struct intmap kids;  /* node << 32 | frame -> node */
    uint32_t *nodes;     /* by stack: 1 + its node */
    uint32_t *path;
    size_t path_room;
};

/* ---- frames ---- */

static enum trie_kind kind_of(const struct table_frame *f)
{
    if (f->flags & TABLE_FRAME_PYTHON)
        return TRIE_PYTHON;
    if (f->flags & (TABLE_FRAME_ELIDED | TABLE_FRAME_CUT) || (!f->module && !f->function))
        return TRIE_UNKNOWN;
    return f->module && plumbing_is_interpreter(text_base(f->module)) ? TRIE_INTERPRETER
                                                                      : TRIE_NATIVE;
}

static const char *function_of(struct arena *a, const struct table_frame *f)
{
    if (f->flags & TABLE_FRAME_ELIDED)
        return "(frames left out)";
    if (f->flags & TABLE_FRAME_CUT)
        return "(the stack ends here)";
    if (f->function)
        return f->function;
    if (f->module)
        return arena_printf(a, "%s+0x%" PRIx64, text_base(f->module), f->address);
    return f->address ? "(code made at run time)" : "(not known)";
}

static bool is_same(const struct trie_frame *a, const struct trie_frame *b)
{
    return strcmp(a->function, b->function) == 0 && strcmp(a->file, b->file) == 0 &&
           strcmp(a->module, b->module) == 0 && a->line == b->line && a->kind == b->kind;
}

static uint32_t frame_of(struct trie *t, const struct table_frame *f)
{
    struct trie_frame one = {function_of(t->arena, f), f->file ? f->file : "",
                             f->module ? f->module : "", f->line, kind_of(f)};
    uint64_t key = hash_bytes(HASH_START, one.function, strlen(one.function)), place;

    key = hash_mix(intmap_hash(hash_mix(key, (uintptr_t)one.file)), one.line);
    for (; intmap_get(&t->pass->known, key, &place); key++)
        if (is_same(&t->list[place], &one))
            return (uint32_t)place;
    intmap_put(&t->pass->known, key, t->frame_count);
    memory_fit(t->list, t->frame_room, t->frame_count + 1);
    t->list[t->frame_count] = one;
    return (uint32_t)t->frame_count++;
}

static bool is_start(const char *function)
{
    static const char *const starts[] = {"_start",
                                         "__libc_start_main_impl",
                                         "__libc_start_call_main",
                                         "clone3",
                                         "__libc_start_main",
                                         "__libc_start_main_alias_2",
                                         "__clone3",
                                         "clone",
                                         "__clone",
                                         "start_thread"};

    for (int i = 0; i < COUNT(starts); i++)
        if (strcmp(function, starts[i]) == 0)
            return true;
    return false;
}

static bool is_machinery(const struct trie_frame *f)
{
    const char *dot = strrchr(f->function, '.'), *name = dot ? dot + 1 : f->function;

    if (f->kind == TRIE_INTERPRETER || (f->kind == TRIE_NATIVE && is_start(f->function)))
        return true;
    if (f->kind != TRIE_PYTHON)
        return false;
    return strncmp(f->file, "<frozen importlib", 17) == 0 ||
           (strcmp(text_base(f->file), "threading.py") == 0 &&
            (strcmp(name, "_bootstrap") == 0 || strcmp(name, "_bootstrap_inner") == 0));
}

static const struct named *names_of(struct trie *t, uint32_t frame)
{
    struct trie_pass *s = t->pass;
    struct named *n = &s->names[frame <= t->frames->frame_count ? frame : 0];
    struct table_frame names[FRAMES_INLINED_MOST];
    size_t count;

    if (n->known)
        return n;
    count = frames_expand(t->frames, frame, names, COUNT(names));
    n->known = true;
    n->first = (uint32_t)s->list_count;
    n->count = (uint32_t)count;
    memory_fit(s->list, s->list_room, s->list_count + count);
    while (count--)
        s->list[s->list_count++] = frame_of(t, &names[count]);
    n->machinery = is_machinery(&t->list[s->list[n->first]]);
    return n;
}

/* ---- nodes ---- */

static uint32_t child(struct trie *t, uint32_t node, uint32_t frame)
{
    uint64_t key = (uint64_t)node << NODE_BITS | frame, place;

    if (intmap_get(&t->pass->kids, key, &place))
        return (uint32_t)place;
    if (t->node_count >= ALLOWED_THINGS(t->frames->names->file_bytes)) {
        t->left_out++;
        return node;
    }
    memory_fit(t->nodes, t->node_room, t->node_count + 1);
    t->nodes[t->node_count] = (struct trie_node){node, frame};
    intmap_put(&t->pass->kids, key, t->node_count);
    return (uint32_t)t->node_count++;
}

static uint32_t descend(struct trie *t, uint32_t node, uint32_t frame)
{
    const struct named *n = names_of(t, frame);

    for (uint32_t i = 0; !n->machinery && i < n->count; i++)
        node = child(t, node, t->pass->list[n->first + i]);
    return node;
}

/* The node of a stack without what is machinery in it: of those who called it first. */
static uint32_t find(struct trie *t, uint64_t stack)
{
    struct trie_pass *s = t->pass;
    size_t depth = 0;
    uint32_t node;

    for (; stack && !s->nodes[stack]; stack = t->frames->stacks[stack].parent) {
        memory_fit(s->path, s->path_room, depth + 1);
        s->path[depth++] = (uint32_t)stack;
    }
    node = stack ? s->nodes[stack] - 1 : 0;
    while (depth--) {
        node = descend(t, node, t->frames->stacks[s->path[depth]].frame);
        s->nodes[s->path[depth]] = node + 1;
    }
    return node;
}

uint32_t trie_node(struct trie *t, uint64_t stack)
{
    const struct named *n;
    uint32_t node;

    if (!stack || stack > t->frames->stack_count || !t->frames->stacks[stack].depth)
        return 0;
    node = find(t, stack);
    n = names_of(t, t->frames->stacks[stack].frame);
    return n->machinery ? child(t, node, t->pass->list[n->first + n->count - 1]) : node;
}

/* ---- who asks for memory ---- */

/* Python that others wrote: web/src/model.js has the same rule. */
static bool is_of_library(const char *file)
{
    const char *lib = strstr(file, "/lib/python");

    if (strstr(file, "site-packages") || strstr(file, "dist-packages") ||
        (lib && isdigit((unsigned char)lib[11])))
        return true;
    return file[0] == '<' && strncmp(file, "<string", 7) != 0 && strncmp(file, "<stdin", 6) != 0 &&
           strncmp(file, "<ipython", 8) != 0;
}

static enum trie_rank rank_of(const struct trie_frame *f)
{
    const struct table_frame as = {.function = f->function, .file = f->file, .module = f->module};

    if (f->kind == TRIE_PYTHON)
        return is_of_library(f->file) ? TRIE_LIBRARY : TRIE_OWN;
    if (!plumbing_is(&as) && f->kind != TRIE_INTERPRETER)
        return TRIE_NAMED;
    return plumbing_is_allocator(f->function) ? TRIE_ALLOCATES : TRIE_PLUMBING;
}

uint8_t *trie_ranks(const struct trie *t)
{
    uint8_t *ranks = memory_zeroed(t->frame_count + 1);

    for (size_t i = 1; i < t->frame_count; i++)
        ranks[i] = (uint8_t)rank_of(&t->list[i]);
    return ranks;
}

void trie_start(struct trie *t, const struct frames *f, struct arena *a)
{
    *t = (struct trie){.frames = f, .arena = a};
    t->pass = memory_zeroed(sizeof(*t->pass));
    t->pass->names = memory_zeroed((f->frame_count + 1) * sizeof(*t->pass->names));
    t->pass->nodes = memory_zeroed((f->stack_count + 1) * sizeof(*t->pass->nodes));
    memory_fit(t->list, t->frame_room, 1);
    t->list[t->frame_count++] = (struct trie_frame){"(smaller)", "", "", 0, TRIE_SMALLER};
    memory_fit(t->nodes, t->node_room, 1);
    t->nodes[t->node_count++] = (struct trie_node){0, 0};
}

void trie_free(struct trie *t)
{
    if (!t->pass)
        return;
    intmap_free(&t->pass->known);
    intmap_free(&t->pass->kids);
    free(t->pass->names);
    free(t->pass->list);
    free(t->pass->nodes);
    free(t->pass->path);
    free(t->pass);
    free(t->list);
    free(t->nodes);
    *t = (struct trie){0};
}
