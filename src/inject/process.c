/* process - see process.h. */
#include "inject/process.h"

#include "inject/buffer.h"
#include "inject/cpu.h"
#include "inject/got.h"
#include "inject/python.h"
#include "inject/sample.h"
#include "inject/sys.h"
#include "inject/thread.h"
#include "tidemark.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NAME_BYTES 16 /* the kernel's */

enum { UNKNOWN, STARTING, ABSENT, READY };

static struct ring_control nobody; /* mode off: what an unrecorded process looks at */
static _Atomic uint32_t own_mode;  /* what a process looks at that has paused itself */
static _Atomic int state;
static _Atomic bool announced;
static const char *library; /* its path, as the loader knows it */

struct home home;
struct process process = {.control = &nobody, .mode = &nobody.mode, .depth = 8};

static void look_at(struct ring_control *c)
{
    process.control = c;
    process.mode = &c->mode;
}

static bool map_control(void)
{
    struct ring_control *c = NULL;
    long fd = sys_call(SYS_openat, AT_FDCWD, (long)process.ring_path, O_RDWR | O_CLOEXEC, 0, 0, 0);

    if (sys_failed(fd))
        return false;
    c = sys_share((int)fd, 0, RING_RINGS_OFFSET);
    sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
    if (!c)
        return false;
    if (c->magic != RING_MAGIC || c->slots != RING_SLOTS || c->words != RING_WORDS) {
        sys_unmap(c, RING_RINGS_OFFSET);
        return false;
    }
    process.slots = (struct ring_slot *)((char *)c + RING_SLOTS_OFFSET);
    process.depth = c->depth < 8 ? 8 : c->depth > RING_DEPTH_MOST ? RING_DEPTH_MOST : c->depth;
    look_at(c);
    return true;
}

static bool make_home(void)
{
    if (sys_failed(sys_call(SYS_madvise, (long)&home, sizeof(home), MADV_WIPEONFORK, 0, 0, 0)))
        return false;
    home.session = process.session = 1;
    return true;
}

/* A handler that interrupted a record has forked: let the child finish that record into nowhere. A
 * child that runs Python is opened at once: it may do nothing but wait, which is told by its lines.
 */
static void in_child(void)
{
    struct thread *t = local.thread;
    int kept = errno;

    cpu_forked();
    if (local.busy && t && t->ring)
        sys_call(SYS_mmap, (long)t->ring, RING_WORDS * 8, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    else if (!local.busy && t && python_is_read() &&
             record_enter((uintptr_t)__builtin_frame_address(0)))
        record_leave();
    errno = kept;
}

static void find_library(void)
{
    struct dl_find_object o;

    if (_dl_find_object((void *)find_library, &o) == 0)
        library = o.dlfo_link_map->l_name;
}

bool process_preload(struct preload *out)
{
    if (process.control == &nobody || !library || !strncmp(library, "/proc/", 6))
        return false; /* the last: a copy without a name, which no other process sees */
    *out = (struct preload){.library = library, .ring = process.ring_path};
    return true;
}

static bool keep_path(const char *path)
{
    if (!path || strncmp(path, "/proc/", 6) || strlen(path) >= sizeof(process.ring_path))
        return false;
    memcpy(process.ring_path, path, strlen(path) + 1);
    return true;
}

/* What a process needs once, whoever records it. */
static bool settle(void)
{
    return process.session ||
           (make_home() && thread_start() && !pthread_atfork(NULL, NULL, in_child));
}

static bool start(void)
{
    find_library();
    return keep_path(getenv(RING_ENV)) && settle() && map_control();
}

bool process_ready(void)
{
    int seen = atomic_load_explicit(&state, memory_order_acquire);

    if (likely(seen >= ABSENT))
        return true;
    if (seen != UNKNOWN || !environ || !atomic_compare_exchange_strong(&state, &seen, STARTING))
        return false;
    atomic_store(&state, start() ? READY : ABSENT);
    return true;
}

void process_forked(void)
{
    struct thread *mine = local.thread ? local.thread : local.parked, *t, *next;

    for (t = atomic_load(&process.threads); t; t = next) {
        next = t->next;
        if (t->ring)
            sys_unmap(t->ring, RING_WORDS * 8);
        t->ring = NULL;
        if (t != mine)
            sys_unmap(t, sizeof(*t));
    }
    for (unsigned int i = 0; i < SPARE_THREADS; i++)
        atomic_store(&process.spare[i], NULL);
    if (mine)
        mine->next = NULL;
    atomic_store(&process.threads, mine);
    local.thread = local.parked = NULL;
    process.parent = atomic_load(&process.number);
    atomic_store(&process.number, 0);
    atomic_store(&announced, false);
    got_forked();
    python_forked();
    home.session = process.session;
    if (mine && !thread_reopen(mine))
        look_at(&nobody);
}

bool process_recorded(void)
{
    return atomic_load_explicit(&process.control->mode, memory_order_relaxed) != RING_OFF;
}

static bool collector_lives(void)
{
    return process_recorded() &&
           sys_call(SYS_kill, (long)process.control->collector_pid, 0, 0, 0, 0, 0) != -ESRCH;
}

void process_check(void)
{
    if (!collector_lives())
        look_at(&nobody);
}

/* All that was said to the collector before is unknown to the new one. Threads find that out by
 * their session, and the caches of stacks by the generation.
 */
static void begin_anew(void)
{
    lookup_forget(&process.stacks);
    lookup_forget(&process.codes);
    lookup_forget(&process.modules);
    lookup_forget(&process.rows); /* a module is told of when a row of it is first looked for */
    python_forked();
    sample_forget_all();
    atomic_store(&process.sampled_bytes, 0);
    atomic_store(&process.sampled_since, 0);
    process.parent = 0;
    atomic_store(&process.number, 0);
    atomic_store(&announced, false);
    atomic_fetch_add(&process.generation, 1);
    home.session = ++process.session;
}

int process_join(const char *path)
{
    process_ready();
    if (collector_lives())
        return TIDEMARK_JOIN_BUSY;
    look_at(&nobody);
    if (!keep_path(path))
        return TIDEMARK_JOIN_PATH;
    if (!settle())
        return TIDEMARK_JOIN_SYSTEM;
    begin_anew();
    atomic_store(&state, READY);
    return map_control() ? 0 : TIDEMARK_JOIN_RING;
}

void process_leave(void)
{
    look_at(&nobody);
}

void process_pause(bool paused)
{
    uint32_t mode = atomic_load(&process.control->mode);

    if (mode == RING_OFF)
        return;
    atomic_store(&own_mode, mode | RING_PAUSED);
    process.mode = paused ? &own_mode : &process.control->mode;
}

uint32_t process_number(void)
{
    uint32_t number = atomic_load(&process.number), none = 0;

    if (number)
        return number;
    number = atomic_fetch_add(&process.control->next_process, 1);
    return atomic_compare_exchange_strong(&process.number, &none, number) ? number : none;
}

void process_announce(struct thread *t)
{
    char text[RING_TEXT_MOST];
    uint64_t words[3];
    long bytes;

    if (atomic_exchange(&announced, true))
        return;
    bytes = sys_call(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)text,
                     sizeof(text) - NAME_BYTES - 1, 0, 0);
    if (sys_failed(bytes))
        bytes = 0;
    text[bytes++] = '\0';
    memset(text + bytes, 0, NAME_BYTES);
    sys_call(SYS_prctl, PR_GET_NAME, (long)(text + bytes), 0, 0, 0, 0);
    bytes += (long)strnlen(text + bytes, NAME_BYTES);
    words[0] = (uint64_t)sys_pid() << 32 | process_number();
    words[1] = process.parent;
    words[2] = (uint64_t)bytes;
    buffer_now(t);
    buffer_put(t, RING_PROCESS, words, 3, text, (size_t)bytes);
    python_tell(t);
}
