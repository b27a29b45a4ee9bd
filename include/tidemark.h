/* tidemark.h - what a program can tell tidemark about itself.
 *
 * Include it and call; nothing is linked. In a program that is not recorded each call costs a load
 * and a branch and does nothing. All functions may be called from any thread. Texts are copied.
 *
 * With a glibc older than 2.34, link with -ldl.
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

struct tidemark_api { /* filled by the library; functions are only ever added, at the end */
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
 * shows each of them, and what grows from one to the next.
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

/* From now on this thread works for key = value, until value is NULL. A thread has up to 8 labels
 * at a time; `tidemark report FILE peak --label key=value` is about what was allocated under one.
 */
static inline void tidemark_label(const char *key, const char *value)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api)
        api->label(key, value);
}

/* A block of the program's own allocator: call alloc once it exists, free before it is given back.
 */
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

/* Pause: no new allocation of this process is recorded, but frees are. Resume: all are again. */
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

/* A window, from start to stop: in it blocks are recorded with their stacks; outside of it by
 * address and size alone, which is cheap, so it is still known what is alive. Processes that never
 * call these follow the one that called them last. `tidemark record --deferred` begins outside of a
 * window, and
 * `--steps 5-20` opens windows by the steps that the program reports. A start also ends a pause.
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

/* A moment whose live memory is of interest, for --at as with marks; name NULL: "snapshot". */
static inline void tidemark_snapshot(const char *name)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api && api->version >= 3)
        api->snapshot(name);
}

/* What a live block is for: "kv cache", "parameters" or any words of your own; and which one it is,
 * such as "encoder.3", or NULL. `block` is where it begins. It holds for the block's whole life,
 * and takes precedence over what `tidemark report FILE decompose` would conclude from stacks.
 */
static inline void tidemark_describe(const void *block, const char *what, const char *name)
{
    const struct tidemark_api *api = tidemark_recorder();

    if (api && api->version >= 4)
        api->describe(block, what, name);
}

/* An operator or a kernel reads or writes memory; `by` is its name (NULL: the innermost span of
 * this thread). Where a span of that name is open in this thread, the memory is needed from its
 * beginning to its end; otherwise at this moment. A program that reports one access to a block
 * reports all of them.
 *
 * TIDEMARK_ACCESS_ALL (with no block) says that from here on every access to a tensor is reported,
 * so that a tensor without any is not used; TIDEMARK_ACCESS_SOME ends that. `tidemark report FILE
 * inefficient` shows what follows from them.
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

/* Watch memory: `tidemark report FILE watch` says who wrote to it, the first time and every time:
 * the function, the line and the byte. Pages that lie wholly in it are write-protected, and a write
 * is caught by a fault, which the program does not see; a page stays open for a moment after that,
 * so not all of many writes to one page are reported. Besides, all of it is compared where spans
 * begin and end, and at steps and marks of any thread, and the report says between which of them it
 * changed; that is all there is for memory without a whole page, for stacks, and where the report
 * says why.
 *
 * At most 64 blocks; watching an address again starts over. Unwatch memory before it is used for
 * something else; free, realloc, munmap and mremap end the watch as well. A forked child watches
 * nothing.
 *
 * The kernel cannot write to a protected page. Calls of libc that make it do so (read, recv, fread,
 * ioctl ...) and syscall() are known, and the page is open for them. A program that makes system
 * calls by instructions of its own, or took such a function from dlsym before the first watch, must
 * ask for TIDEMARK_WATCH_LOOKS, or these calls fail.
 */
enum tidemark_watch_how {
    TIDEMARK_WATCH_LOOKS = 1, /* only compare it: no page is write-protected */
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
        api->watch(block, bytes, name); /* which only compares */
}

/* Watch the content of a cl_mem, a buffer or a part of one: `tidemark report FILE watch` says which
 * kernel or command changed it, the first time and every time. Before the first that may write to
 * it, and after each, its content is read back by a command put into the same queue; nobody waits
 * for that, and only a hash is kept. `tidemark record --accesses` (or --launches) is needed:
 * otherwise the arguments of kernels are not known. At most 16; tidemark_unwatch ends it, and so
 * does the object's release.
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

/* For a program that has itself recorded while it runs. `tidemark attach --self-loading PID` prints
 * one line with two words, the ring and the library. Process PID then loads the library (dlopen
 * with RTLD_NOW | RTLD_LOCAL, never closed again), finds these two functions in it by dlsym and
 * calls tidemark_join(ring). What happens after that has returned 0 is recorded. tidemark_leave
 * ends it and puts everything back. After `tidemark detach PID`, or the end of the tool, nothing
 * more is recorded either, but the process still has to call tidemark_leave.
 */
enum tidemark_join_error {
    TIDEMARK_JOIN_BUSY = 1,   /* the process is already recorded */
    TIDEMARK_JOIN_PATH = 2,   /* that is not a ring */
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
