/* tidemark.h - what a program may tell tidemark about itself.
 *
 * Include it and call; nothing is linked. In a program that is not recorded each call costs a load
 * and a branch and does nothing. All functions may be called from any thread. Texts are copied.
 *
 * With an older glibc than 2.34, link with -ldl.
 */
#ifndef TIDEMARK_H
#define TIDEMARK_H

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TIDEMARK_API 7

struct tidemark_api { /* of the recording library; functions are only added, at the end */
    uint64_t version;
    void (*mark)(const char *name, uint64_t value);
    void (*step)(const char *name, uint64_t number);
    void (*begin)(const char *name);
    void (*finish)(void);
    void (*label)(const char *key, const char *value);
    void (*alloc)(const void *block, size_t bytes);
    void (*free)(const void *block);
    uint64_t (*open)(const char *name); /* from version 2 */
    void (*close)(uint64_t region);
    void (*profiled)(const char *file, uint64_t line, const char *function);
    void (*pause)(void); /* from version 3 */
    void (*resume)(void);
    void (*snapshot)(const char *name);
    void (*describe)(const void *block, const char *what, const char *name); /* from version 4 */
    void (*access)(const void *block, size_t bytes, unsigned int kind, const char *by);
    void (*watch)(const void *block, size_t bytes, const char *name);
    void (*unwatch)(const void *block);
    void (*start)(void); /* from version 5 */
    void (*stop)(void);
    void (*watch_how)(const void *block, size_t bytes, const char *name, unsigned int how);
    void (*rank)(uint64_t rank, uint64_t world); /* from version 6 */
};

/* The library's functions; NULL: this program is not recorded. */
static inline const struct tidemark_api *tidemark_recorder(void)
{
    static const struct tidemark_api *found;
    static int looked;

    if (!__atomic_load_n(&looked, __ATOMIC_ACQUIRE)) {
        found = (const struct tidemark_api *)dlsym((void *)0 /* RTLD_DEFAULT */, "tidemark_api");
        __atomic_store_n(&looked, 1, __ATOMIC_RELEASE);
    }
    return found;
}

/* Which rank of a distributed program this process is, from 0, and of how many (0: not known). What
 * launchers put into the environment (RANK, OMPI_COMM_WORLD_RANK, SLURM_PROCID ...) is known
 * without it.
 */
static inline void tidemark_rank(uint64_t rank, uint64_t world)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api && api->version >= 6)
        api->rank(rank, world);
}

/* A named moment: `tidemark report FILE peak --at NAME` shows what was held then. */
static inline void tidemark_mark(const char *name, uint64_t value)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api)
        api->mark(name, value);
}

/* A step of a loop ends here (an iteration, a request, an epoch): `tidemark report FILE steps`
 * tells of each, and of what grows from one to the next.
 */
static inline void tidemark_step(const char *name, uint64_t number)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api)
        api->step(name, number);
}

/* A named span of this thread; spans nest, tidemark_end ends the innermost. */
static inline void tidemark_begin(const char *name)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api)
        api->begin(name);
}

static inline void tidemark_end(void)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api)
        api->finish();
}

/* A named span that may overlap others in any way and end in another thread: close what open gave.
 */
static inline uint64_t tidemark_open(const char *name)
{
    const struct tidemark_api *api = tidemark_recorder();

    return api && api->version >= 2 ? api->open(name) : 0;
}

static inline void tidemark_close(uint64_t region)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api && region)
        api->close(region);
}

/* From now on this thread works for key = value; value NULL: no longer. A thread has up to 8 at one
 * time; `tidemark report FILE peak --label key=value` is about what was allocated meanwhile.
 */
static inline void tidemark_label(const char *key, const char *value)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api)
        api->label(key, value);
}

/* A block of the program's own allocator: call after it exists, and before it is given back. */
static inline void tidemark_alloc(const void *block, size_t bytes)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api)
        api->alloc(block, bytes);
}

static inline void tidemark_free(const void *block)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api)
        api->free(block);
}

/* From now on no new allocation of this process is recorded, only what dies; and again all. */
static inline void tidemark_pause(void)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api && api->version >= 3)
        api->pause();
}

static inline void tidemark_resume(void)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api && api->version >= 3)
        api->resume();
}

/* A window begins: from here on blocks are recorded with their stacks; and outside of it by address
 * and size alone, which is cheap, so that what lives and what dies is known all the same. Processes
 * that never call these follow the one that did last. `tidemark record --deferred` begins outside,
 * and `--steps 5-20` opens windows by the steps that are told. A start also ends a pause.
 */
static inline void tidemark_start(void)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api && api->version >= 5)
        api->start();
}

static inline void tidemark_stop(void)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api && api->version >= 5)
        api->stop();
}

/* A moment whose live memory is of interest, for --at as above; name NULL: "snapshot". */
static inline void tidemark_snapshot(const char *name)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api && api->version >= 3)
        api->snapshot(name);
}

/* What a block is for that is alive: "kv cache", "parameters", or any words of your own; and which
 * one it is, as "encoder.3", or NULL. `block` is where it begins. It holds for the block's whole
 * life, and comes before what `tidemark report FILE decompose` would read from stacks.
 */
static inline void tidemark_describe(const void *block, const char *what, const char *name)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api && api->version >= 4)
        api->describe(block, what, name);
}

/* Somebody reads or writes memory: an operator or a kernel, `by` its name (NULL: the innermost span
 * of this thread). Where a span of that name is open in this thread, the memory is needed from its
 * beginning to its end; else at this moment. A program that tells one access to a block tells all
 * of them.
 *
 * Of tensors, TIDEMARK_ACCESS_ALL (with no block) says that every access is told from here on, so
 * that one without any is not used; TIDEMARK_ACCESS_SOME ends that. `tidemark report FILE
 * inefficient` asks for them.
 */
enum tidemark_access_kind {
    TIDEMARK_READ = 1,
    TIDEMARK_WRITE = 2,
    TIDEMARK_ACCESS_ALL = 4,
    TIDEMARK_ACCESS_SOME = 8
};

static inline void tidemark_access(const void *block, size_t bytes, unsigned int kind,
                                   const char *by)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api && api->version >= 4)
        api->access(block, bytes, kind, by);
}

/* Watch memory: `tidemark report FILE watch` tells who has written to it, the first time and every
 * time: the function, the line and the byte. Pages that lie wholly in it are kept from being
 * written to, and a write is met by a fault, which the program does not see; a page stays open for
 * a moment after that, so that of many writes to one page not all are told. Besides, all of it is
 * looked at where spans begin and end, at steps and marks of any thread, and it is told between
 * which of them it has changed; this is all for memory that has no whole page, on stacks, and where
 * the report says why.
 *
 * At most 64 blocks; what is watched twice from one address begins anew. End it before the memory
 * is used for something else: free, realloc, munmap and mremap end it as well. A forked child
 * watches nothing.
 *
 * The kernel cannot write into such a page. Calls of libc that let it (read, recv, fread, ioctl
 * ...) and syscall() are known, and the page is open for them; a program that makes them by
 * instructions of its own, or has asked dlsym for them before the first watch, shall ask for
 * TIDEMARK_WATCH_LOOKS, as they fail else.
 */
enum tidemark_watch_how {
    TIDEMARK_WATCH_LOOKS = 1, /* only look at it: nothing is kept from being written to */
    TIDEMARK_WATCH_OPENCL = 2 /* from version 7: tidemark_watch_opencl */
};

static inline void tidemark_watch(const void *block, size_t bytes, const char *name)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api && api->version >= 4)
        api->watch(block, bytes, name);
}

static inline void tidemark_watch_how(const void *block, size_t bytes, const char *name,
                                      unsigned int how)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api && api->version >= 5)
        api->watch_how(block, bytes, name, how);
    else if (api && api->version >= 4)
        api->watch(block, bytes, name); /* which looks */
}

/* Watch the content of a cl_mem, a buffer or a part of one: `tidemark report FILE watch` tells
 * which kernel or command has changed it, the first time and every time. After each that may write
 * to it, and before the first, its content is read back by a command that is put behind it into the
 * same queue; nobody waits for that, and only a hash is kept. `tidemark record
 * --accesses` (or --launches) is needed, as kernels are not known by their arguments else. At most
 * 16; tidemark_unwatch ends it, and so does its release.
 */
static inline void tidemark_watch_opencl(const void *buffer, const char *name)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api && api->version >= 7)
        api->watch_how(buffer, 0, name, TIDEMARK_WATCH_OPENCL);
}

static inline void tidemark_unwatch(const void *block)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api && api->version >= 4)
        api->unwatch(block);
}

/* For a program that lets itself be recorded while it runs. `tidemark attach --self-loading PID`
 * prints one line with two words, the ring and the library. The process that it names then loads
 * the library (dlopen with RTLD_NOW | RTLD_LOCAL, never closed again), finds these two functions in
 * it by dlsym and calls tidemark_join(ring). Recorded is what happens after it has returned 0.
 * tidemark_leave ends it and puts everything back. After `tidemark detach PID`, or the end of the
 * tool, nothing more is recorded either, but it is for the process to leave.
 */
enum tidemark_join_error {
    TIDEMARK_JOIN_BUSY = 1,   /* the process is already recorded */
    TIDEMARK_JOIN_PATH = 2,   /* that is no ring */
    TIDEMARK_JOIN_SYSTEM = 3, /* the kernel lacks what is needed (Linux 4.14) */
    TIDEMARK_JOIN_RING = 4,   /* the ring cannot be opened, or is of another version */
    TIDEMARK_JOIN_THREAD = 5  /* there is no room in it */
};
int tidemark_join(const char *ring); /* 0, or one of the numbers above */
void tidemark_leave(void);

#ifdef __cplusplus
}
#endif

#endif
