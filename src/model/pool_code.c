/* pool_code - see pool_code.h. Texts are kept once each, so their places in memory stand for them.
 */
#include "model/pool_code.h"

#include "base/count.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/plumbing.h"

#include <stdlib.h>
#include <string.h>

#define RANK_LIBRARY 1u
#define RANK_FUNCTION 2u

/* ---- flags ---- */

static const char *file_of(const struct frames *f, uint64_t frame)
{
    const struct frames_name *name = f->frames[frame].names;

    return name && name->file ? name->file : "";
}

/* Where workers in Python get their work. `here`: the loop itself waits, and calls a function to do
 * it. */
static const struct {
    const char *file, *function;
    bool here;
} loops[] = {
    {"/concurrent/futures/thread.py", "_worker", true},
    {"/concurrent/futures/process.py", "_process_worker", false},
    {"/loky/process_executor.py", "_process_worker", false},
    {"/multiprocessing/pool.py", "worker", false},
    {"/multiprocessing/pool.py", "Pool._handle_workers", true},
    {"/multiprocessing/pool.py", "Pool._handle_tasks", true},
    {"/multiprocessing/pool.py", "Pool._handle_results", true},
    {"/multiprocessing/forkserver.py", "main", true},
    {"/multiprocessing/resource_tracker.py", "main", true},
    {"/loky/backend/resource_tracker.py", "main", true},
};
#define LOOP_IS_OUTER 32u /* a loop that waits in what it calls */

static bool ends(const char *text, const char *with)
{
    size_t n = strlen(text), m = strlen(with);

    return n >= m && strcmp(text + n - m, with) == 0;
}

/* "Pool._handle_tasks" is _handle_tasks before 3.11. */
static bool is_function(const char *is, const char *name)
{
    const char *dot = strrchr(name, '.');

    return is && (strcmp(is, name) == 0 || (dot && strcmp(is, dot + 1) == 0));
}

/* Between such a loop and its wait there is nothing but queues, which are the library's. */
static unsigned int waits_in_loop(const char *file, const char *function, unsigned int outer)
{
    for (int i = 0; i < COUNT(loops); i++)
        if (ends(file, loops[i].file) && is_function(function, loops[i].function))
            return loops[i].here ? POOL_IDLE | LOOP_IS_OUTER : LOOP_IS_OUTER;
    if (!(outer & LOOP_IS_OUTER) ||
        !(ends(file, "/queues.py") || ends(file, "/queue.py") || ends(file, "/connection.py") ||
          ends(file, "/synchronize.py") || ends(file, "/threading.py") ||
          ends(file, "/selectors.py")))
        return 0;
    return POOL_IDLE | LOOP_IS_OUTER;
}

/* Who waits for a process has started it before, not the one that begins then. */
static bool waits_for_process(const char *function)
{
    static const char *const functions[] = {"wait", "_wait",       "_try_wait",
                                            "poll", "communicate", "_communicate"};

    for (int i = 0; i < COUNT(functions); i++)
        if (is_function(function, functions[i]))
            return true;
    return false;
}

/* What a line of the program calls to start a process that is no pool's or server's. */
static bool starts_alone(const char *file)
{
    static const char *const files[] = {"/subprocess.py", "/os.py", "/multiprocessing/process.py",
                                        "/multiprocessing/context.py", "/multiprocessing/util.py"};

    for (int i = 0; i < COUNT(files); i++)
        if (ends(file, files[i]))
            return true;
    return strstr(file, "/multiprocessing/popen_");
}

static unsigned int flags_of_python(const struct blame *b, uint64_t frame, unsigned int outer)
{
    const struct frames_name *name = b->frames->frames[frame].names;
    const char *file = file_of(b->frames, frame);
    unsigned int flags = waits_in_loop(file, name ? name->function : NULL, outer);
    const struct blame_name *names;

    if (scope_is_library(b->scope, file))
        flags |= POOL_LIBRARY;
    if (strstr(file, "/popen_") || ends(file, "/subprocess.py")) {
        if (name && waits_for_process(name->function))
            outer &= ~(unsigned int)POOL_STARTS;
        else
            flags |= POOL_STARTS;
    }
    if (ends(file, "/multiprocessing/pool.py"))
        flags |= POOL_MAKES;
    if (name && ends(file, "/threading.py") && is_function(name->function, "Thread.start"))
        flags |= POOL_BEGINS;
    if (blame_names(b, frame, &names))
        return flags | POOL_LINE | POOL_OWN | POOL_ALONE;
    if (!starts_alone(file))
        outer &= ~(unsigned int)POOL_ALONE;
    if (strncmp(file, "<frozen importlib", 17) == 0)
        flags |= POOL_IMPORTS;
    return flags | (outer & (POOL_LINE | POOL_IMPORTS | POOL_STARTS | POOL_MAKES | POOL_BEGINS |
                             POOL_ALONE));
}

void pool_code_start(struct pool_code *c, const struct blame *b)
{
    const struct frames *f = b->frames;

    *c = (struct pool_code){.blame = b,
                            .flags = memory_zeroed((f->stack_count + 1) * sizeof(*c->flags))};
    for (size_t i = 1; i <= f->stack_count; i++) {
        const struct frames_stack *s = &f->stacks[i];
        unsigned int outer = c->flags[s->parent];

        c->flags[i] = (uint16_t)(frames_is_python(f, s->frame) ? flags_of_python(b, s->frame, outer)
                                                               : outer);
    }
}

void pool_code_free(struct pool_code *c)
{
    free(c->flags);
    intmap_free(&c->ranks);
}

unsigned int pool_code_flags(const struct pool_code *c, uint32_t stack)
{
    return stack <= c->blame->frames->stack_count ? c->flags[stack] : 0;
}

/* ---- what two stacks have in common ---- */

/* Code that the program has made itself (numba's, oneDNN's) is in no file, and stacks end there:
 * all of it is one library. */
static const char generated[] = "";

/* The file of a frame's code; NULL: it is in one that every thread is in. */
static const char *library_of(const struct frames *f, uint64_t frame)
{
    static const char *const common[] = {
        "libc.", "libc-", "ld-",       "ld.",      "libpthread", "libdl",     "librt",
        "libm.", "libm-", "libstdc++", "libgcc_s", "linux-vdso", "libpython", "libtidemark"};
    struct table_frame one;
    const char *base;

    frames_expand(f, frame, &one, 1);
    if (!one.module)
        return frames_is_generated(f, frame) ? generated : NULL;
    if (plumbing_is_interpreter(one.module))
        return NULL;
    base = text_base(one.module);
    for (int i = 0; i < COUNT(common); i++)
        if (strncmp(base, common[i], strlen(common[i])) == 0)
            return NULL;
    return one.module;
}

static const char *function_of(const struct frames *f, uint64_t frame)
{
    const struct frames_name *name = f->frames[frame].names;

    while (name && name->next) /* what others were inlined into */
        name = name->next;
    return name ? name->function : NULL;
}

/* Look for a library, and a function of it, in the native code that a line of Python has called. */
static unsigned int look_for(const struct frames *f, uint32_t caller, const char *library,
                             const char *function)
{
    unsigned int found = 0;

    for (; caller; caller = f->stacks[caller].parent) {
        uint64_t frame = f->stacks[caller].frame;

        if (frames_is_python(f, frame))
            break;
        if (library_of(f, frame) != library)
            continue;
        if (function && function_of(f, frame) == function)
            return RANK_FUNCTION;
        found = RANK_LIBRARY;
    }
    return found;
}

static unsigned int compare(const struct frames *f, uint32_t caller, uint32_t worker)
{
    unsigned int rank = 0, place = 0;

    for (; worker; worker = f->stacks[worker].parent, place++) {
        const char *library = library_of(f, f->stacks[worker].frame);
        unsigned int found;

        if (!library)
            continue;
        found = look_for(f, caller, library, function_of(f, f->stacks[worker].frame));
        if (found == RANK_FUNCTION)
            rank = RANK_FUNCTION + place;
        else if (!rank)
            rank = found;
    }
    return rank;
}

unsigned int pool_code_rank(struct pool_code *c, uint32_t caller, uint32_t worker)
{
    uint64_t key = (uint64_t)caller << 32 | worker, rank;
    size_t known = c->blame->frames->stack_count;

    if (caller > known || worker > known)
        return 0;
    if (!intmap_get(&c->ranks, key, &rank)) {
        rank = compare(c->blame->frames, caller, worker);
        intmap_put(&c->ranks, key, rank);
    }
    return (unsigned int)rank;
}

/* "/x/libscipy_openblas64_-32a4b2a6.so.0" is known as libscipy_openblas64_. */
const char *pool_code_library(const struct pool_code *c, struct arena *a, uint32_t stack)
{
    const struct frames *f = c->blame->frames;
    const char *library = NULL;

    for (; stack && stack <= f->stack_count && !library; stack = f->stacks[stack].parent)
        library = library_of(f, f->stacks[stack].frame);
    if (!library)
        return NULL;
    if (library == generated)
        return "code without a file";
    library = text_base(library);
    return arena_printf(a, "%.*s", (int)strcspn(library, ".-"), library);
}
