/* process - see process.h. */
#include "inject/process.h"

#include "inject/buffer.h"
#include "inject/sys.h"
#include "inject/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { UNKNOWN, STARTING, ABSENT, READY };

static struct ring_control nobody; /* mode off: what an unrecorded process looks at */
static _Atomic int state;
static _Atomic bool announced;

struct home home;
struct process process = {.control = &nobody, .depth = 8};

static bool map_control(void)
{
    struct ring_control *c = NULL;
    long fd = sys_call(SYS_open, (long)process.ring_path, 02000002 /* O_RDWR|O_CLOEXEC */, 0, 0, 0,
                       0);

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
    process.control = c;
    return true;
}

static bool make_home(void)
{
    if (sys_failed(sys_call(SYS_madvise, (long)&home, sizeof(home), MADV_WIPEONFORK, 0, 0, 0)))
        return false;
    home.alive = 1;
    return true;
}

/* A handler that interrupted a record has forked: let the child finish that record into nowhere. */
static void in_child(void)
{
    struct thread *t = local.thread;

    if (local.busy && t && t->ring)
        sys_call(SYS_mmap, (long)t->ring, RING_WORDS * 8, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static bool start(void)
{
    const char *path = getenv(RING_ENV);

    if (!path || strncmp(path, "/proc/", 6) || strlen(path) >= sizeof(process.ring_path))
        return false;
    memcpy(process.ring_path, path, strlen(path) + 1);
    if (!make_home() || !thread_start() || pthread_atfork(NULL, NULL, in_child))
        return false;
    return map_control();
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
    home.alive = 1;
    if (mine && !thread_reopen(mine))
        process.control = &nobody;
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
    char path[RING_TEXT_MOST];
    uint64_t words[3];
    long bytes;

    if (atomic_exchange(&announced, true))
        return;
    bytes = sys_call(SYS_readlink, (long)"/proc/self/exe", (long)path, sizeof(path), 0, 0, 0);
    if (sys_failed(bytes))
        bytes = 0;
    words[0] = (uint64_t)sys_pid() << 32 | process_number();
    words[1] = process.parent;
    words[2] = (uint64_t)bytes;
    buffer_now(t);
    buffer_put(t, RING_PROCESS, words, 3, path, (size_t)bytes);
}
