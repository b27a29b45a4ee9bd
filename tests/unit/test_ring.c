/* test_ring - the buffers between a recorded program and the collector, with the real code of both
 * sides in one process: several threads write laps of their rings while the collector reads them,
 * and every record must come out as it went in. Built with ThreadSanitizer (tools/race) it is also
 * the proof that what one side writes plainly is ordered by the few atomic words.
 *
 * Both sides must use the same addresses for that: rings.c is built with `mmap` and the code of the
 * target with `sys_share` replaced by the two functions below. Stacks are made up here. A full ring
 * is waited for as long as it takes, so that nothing is lost on a busy machine.
 */
#include "collect/collect.h"
#include "inject/cpu.h"
#include "inject/event.h"
#include "inject/modules.h"
#include "inject/objects.h"
#include "inject/python.h"
#include "inject/real.h"
#include "inject/stacks.h"
#include "trace/batch.h"
#include "trace/read.h"

#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define WRITERS 4
#define EVENTS 150000u /* of each: more than three laps */
#define WINDOW 97u     /* blocks that each keeps */
#define STACKS 200u
#define VIEWS 64
#define FRAMES_AT 0x10000u

void *test_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *test_share(int fd, uint64_t offset, size_t bytes);
void *test_share_again(const void *page, size_t skip, size_t bytes);
uint32_t test_stack(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t rbp);
uint32_t test_outside(struct thread *t);

/* No Python here, no samples of CPU time, and nothing is hooked or patched. */
struct real real = {.mmap = mmap,
                    .pthread_getattr_np = pthread_getattr_np,
                    .pthread_attr_getstack = pthread_attr_getstack,
                    .pthread_key_create = pthread_key_create,
                    .pthread_setspecific = pthread_setspecific};

bool objects_find(const void *address, struct object *found)
{
    (void)address, (void)found;
    return false; /* the path of the library: here is none */
}

void real_find(void)
{
}

void cpu_begin(struct thread *t)
{
    (void)t;
}

void launch_tell_all(struct thread *t);

void launch_tell_all(struct thread *t)
{
    (void)t;
}

void cpu_end(struct thread *t)
{
    (void)t;
}

void cpu_forked(void)
{
}

void cpu_leave(void)
{
}

void cpu_sampled_by(void (*function)(struct caller at))
{
    (void)function;
}

void cpu_take(struct thread *t, struct caller at)
{
    (void)t, (void)at;
}

void modules_again(struct thread *t, const uint64_t *frames, size_t count)
{
    (void)t;
    (void)frames;
    (void)count;
}

bool python_is_read(void)
{
    return false;
}

void python_tell(struct thread *t)
{
    (void)t;
}

void python_tell_end(struct thread *t)
{
    (void)t;
}

void python_forked(void)
{
}

/* ---- one view of each part of the file ---- */

static struct {
    uint64_t offset;
    void *at;
} views[VIEWS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *view(int fd, uint64_t offset, size_t bytes)
{
    void *at = NULL;
    int i = 0;

    pthread_mutex_lock(&lock);
    while (i < VIEWS && views[i].at && views[i].offset != offset)
        i++;
    if (i < VIEWS) {
        if (!views[i].at) {
            at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
            views[i].at = at == MAP_FAILED ? NULL : at;
            views[i].offset = offset;
        }
        at = views[i].at;
    }
    pthread_mutex_unlock(&lock);
    return at;
}

void *test_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    void *p = view(fd, (uint64_t)offset, bytes);

    (void)at, (void)protection, (void)flags;
    return p ? p : MAP_FAILED;
}

void *test_share(int fd, uint64_t offset, size_t bytes)
{
    return view(fd, offset, bytes);
}

void *test_share_again(const void *page, size_t skip, size_t bytes)
{
    (void)page;
    return view(-1, skip, bytes);
}

static uint64_t *ring_of(uint32_t slot)
{
    return view(-1, RING_RINGS_OFFSET + (uint64_t)slot * RING_WORDS * 8, RING_WORDS * 8);
}

/* ---- what is written ---- */

static uint64_t mix(uint64_t writer, uint64_t i)
{
    uint64_t h = (writer << 32 | i) * 0x9e3779b97f4a7c15u;

    return h ^ h >> 29;
}

static uint64_t bytes_of(uint64_t writer, uint64_t i)
{
    uint64_t h = mix(writer, i);

    return h % 1000 ? 1 + h % 300 : (1ull << 32) + h % 7; /* some that need a longer record */
}

static uint64_t stack_of(uint64_t writer, uint64_t i)
{
    return mix(writer, i) / 1000 % STACKS;
}

/* What stands in for unwinding: `pc` names the stack, which has two frames. */
uint32_t test_outside(struct thread *t)
{
    return test_stack(t, 0, 0, 0);
}

uint32_t test_stack(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t rbp)
{
    bool known;
    uint64_t frames[2] = {pc, FRAMES_AT};

    (void)sp, (void)rbp;
    return stacks_number(t, frames, 2, &known);
}

struct writer {
    pthread_t thread;
    uint64_t number;
    int tid;
    _Atomic bool *go;
};

static void *write_events(void *context)
{
    struct writer *w = context;
    uintptr_t base = (w->number + 1) << 32, frame = (uintptr_t)__builtin_frame_address(0);

    w->tid = (int)syscall(SYS_gettid);
    while (!atomic_load(w->go))
        ;
    for (uint64_t i = 0; i < EVENTS + WINDOW; i++) {
        if (i >= WINDOW)
            event_free((void *)(base + (i - WINDOW) % 512 * 16), RING_BY_MALLOC, frame);
        if (i < EVENTS)
            event_record((void *)(base + i % 512 * 16), bytes_of(w->number, i), RING_BY_MALLOC,
                         FRAMES_AT + 1 + stack_of(w->number, i), frame, 0);
    }
#ifdef __SANITIZE_THREAD__
    local.thread =
        NULL; /* no record by a destructor: the sanitizer has left the thread before it */
#endif
    return NULL;
}

/* ---- the recording ---- */

static char path[32]; /* of memory: a test that is killed leaves nothing behind */
static struct writer writers[WRITERS];
static struct absorb_counts totals;
static struct collect *collector;
static struct trace_store *store;
static bool zeroed; /* the ring that was scribbled over came back clean */

static void wait_us(unsigned int us)
{
    struct timespec t = {0, us * 1000L};

    nanosleep(&t, NULL);
}

static void record_writers(void)
{
    _Atomic bool go = false;
    unsigned int done = 0;

    for (unsigned int i = 0; i < WRITERS; i++) {
        writers[i].number = i;
        writers[i].go = &go;
        pthread_create(&writers[i].thread, NULL, write_events, &writers[i]);
    }
    atomic_store(&go, true);
    while (done < WRITERS) {
        wait_us(collect_pass(collector));
        while (done < WRITERS && pthread_tryjoin_np(writers[done].thread, NULL) == 0)
            done++;
    }
}

struct scribbler {
    uint64_t *ring;
    struct ring_slot *slot;
    _Atomic bool stop;
    _Atomic uint64_t written;
};

/* Writes records without a time wherever the collector has made room, as fast as it can. */
static void *scribble(void *context)
{
    struct scribbler *s = context;

    for (uint64_t at = 0; !atomic_load(&s->stop); at++) {
        _Atomic uint64_t *w = (_Atomic uint64_t *)&s->ring[at % RING_WORDS];

        while (at >= atomic_load_explicit(&s->slot->tail, memory_order_acquire) + RING_WORDS) {
            if (atomic_load(&s->stop))
                return NULL;
        }
        atomic_store_explicit(w, 0x123450000ull | RING_FREE, memory_order_release);
        atomic_store_explicit(&s->written, at, memory_order_relaxed);
    }
    return NULL;
}

/* A process that writes for ever, then nonsense, then dies. */
static void record_scribbler(void)
{
    uint32_t slot = RING_SLOTS - 1;
    struct ring_control *control = view(-1, 0, 0);
    struct ring_slot *s = (struct ring_slot *)((char *)control + RING_SLOTS_OFFSET) + slot;
    _Atomic uint64_t *bits = &control->free_slots[slot / 64];
    struct scribbler scribbler = {0};
    pid_t child = fork();
    pthread_t thread;

    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* should this test crash */
        pause();
        _exit(0);
    }
    atomic_fetch_and(bits, ~(1ull << (slot % 64)));
    s->process = 0xfffffff0u;
    s->pid = (uint32_t)child;
    s->tid = (uint32_t)child;
    atomic_store(&s->state, RING_SLOT_CLAIMED);
    collect_pass(collector);
    collect_pass(collector); /* maps it, as a number that nobody gave is put off once */
    scribbler.ring = ring_of(slot);
    scribbler.slot = s;
    pthread_create(&thread, NULL, scribble, &scribbler);
    while (atomic_load(&scribbler.written) < 3 * RING_WORDS)
        collect_pass(collector); /* each of these must come back */
    atomic_store(&scribbler.stop, true);
    pthread_join(thread, NULL);
    for (uint64_t i = 0; i < RING_WORDS; i++)
        atomic_store((_Atomic uint64_t *)&scribbler.ring[i], UINT64_MAX); /* no such kind */
    for (int i = 0; i < 20; i++)
        collect_pass(collector);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    while (!(atomic_load(bits) >> (slot % 64) & 1)) {
        collect_pass(collector);
        wait_us(1000);
    }
    zeroed = true;
    for (uint64_t i = 0; i < RING_WORDS; i++)
        zeroed = zeroed && !scribbler.ring[i];
}

static void test_records(void)
{
    struct collect_options options = {.mode = RING_EXACT};
    struct err err;
    int fd = memfd_create("test-ring", MFD_CLOEXEC);

    if (!CHECK(fd >= 0))
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    store = trace_store_create(path, &err);
    options.origin_ns = 0;
    collector = store ? collect_create(&options, store, &err) : NULL;
    if (!CHECK(collector))
        return;
    putenv((char *)collect_environment(collector));
    event_start(); /* as the library does when it is loaded */
    record_scribbler();
    record_writers();
    collect_finish(collector, &totals);
    CHECK_EQ(trace_store_close(store, &err), 0);
    printf("# %" PRIu64 " allocations, %" PRIu64 " frees, %" PRIu64 " lost\n", totals.allocs,
           totals.frees, totals.lost);
}

/* ---- what came out ---- */

static void test_totals(void)
{
    CHECK_EQ(totals.lost, 0);
    CHECK_EQ(totals.nested, 0);
    CHECK_EQ(totals.allocs, (uint64_t)WRITERS * EVENTS);
    CHECK_EQ(totals.frees, (uint64_t)WRITERS * EVENTS);
    CHECK_EQ(totals.live_blocks, 0);
    CHECK_EQ(totals.live_bytes, 0);
}

static void test_scribbled(void)
{
    CHECK_EQ(totals.broken, 1);
    CHECK(totals.unknown_frees > 0); /* of the nonsense that looked like records */
    CHECK(zeroed);
}

struct known {
    uint64_t bytes, stack;
};

static struct known infos[WRITERS * EVENTS];
static uint64_t leaf_of[4 * STACKS], address_of[4 * STACKS];
static uint64_t allocs[WRITERS], frees[WRITERS], wrong, unknown;
static uint64_t threads[64]; /* number in the trace -> writer + 1 */

static void take_infos(const struct trace_event *ev)
{
    const unsigned char *tail = ev->tail;
    size_t size = ev->tail_bytes;
    struct batch_info info = {.info = ev->infos.first - 1};

    while (batch_next_info(&tail, &size, &info))
        if (info.info < WRITERS * EVENTS)
            infos[info.info] = (struct known){info.bytes, info.stack};
}

static void take_stacks(const struct trace_event *ev)
{
    const unsigned char *tail = ev->tail;
    size_t size = ev->tail_bytes;
    uint64_t next = ev->stacks.first;
    struct trace_stack s;

    while (batch_next_stack(&tail, &size, &next, &s))
        if (s.stack < 4 * STACKS)
            leaf_of[s.stack] = s.frame;
}

static void compare(uint64_t writer, uint64_t i, uint64_t info)
{
    const struct known *k = &infos[info < WRITERS * EVENTS ? info : 0];
    uint64_t leaf = k->stack < 4 * STACKS ? leaf_of[k->stack] : 0;

    if (k->bytes == bytes_of(writer, i) && !k->stack)
        unknown++;
    else if (k->bytes != bytes_of(writer, i) || leaf >= 4 * STACKS ||
             address_of[leaf] != FRAMES_AT + 1 + stack_of(writer, i))
        wrong++;
}

static void take_batch(const struct trace_event *ev)
{
    struct batch_reader r;
    struct batch_event e;

    if (!CHECK_EQ(batch_open(&r, ev->tail, ev->tail_bytes, ev->time_ns, ev->batch.span_ns), 0))
        return;
    while (batch_next(&r, &e) > 0) {
        uint64_t writer = e.thread < 64 ? threads[e.thread] : 0;

        if (writer-- == 0)
            continue; /* the scribbler's */
        compare(writer, e.op == BATCH_ALLOC ? allocs[writer]++ : frees[writer]++, e.info);
    }
}

static void take_thread(const struct trace_event *ev)
{
    for (unsigned int i = 0; i < WRITERS; i++)
        if ((int)ev->thread.tid == writers[i].tid && ev->thread.thread < 64)
            threads[ev->thread.thread] = i + 1;
}

/* Every event of every thread, in its order, with its size and stack, whichever thread told it. */
static void test_events(void)
{
    struct trace_event ev;
    struct err err;
    struct trace *t = trace_open(path, &err);

    if (!CHECK(t))
        return;
    while (trace_next(t, &ev)) {
        if (ev.kind == TRACE_INFOS && ev.infos.process == 1)
            take_infos(&ev);
        else if (ev.kind == TRACE_STACKS)
            take_stacks(&ev);
        else if (ev.kind == TRACE_FRAME && ev.frame.frame < 4 * STACKS)
            address_of[ev.frame.frame] = ev.frame.address;
        else if (ev.kind == TRACE_THREAD)
            take_thread(&ev);
        else if (ev.kind == TRACE_BATCH && ev.batch.process == 1)
            take_batch(&ev);
    }
    CHECK_EQ(trace_health(t).damaged, 0);
    trace_close(t);
    CHECK_EQ(wrong, 0);
    CHECK_EQ(unknown, 0); /* events that met a stack before it was told */
    for (unsigned int i = 0; i < WRITERS; i++) {
        CHECK_EQ(allocs[i], EVENTS);
        CHECK_EQ(frees[i], EVENTS);
    }
}

int main(void)
{
    static const struct check_test tests[] = {
        {"threads write, the collector reads", test_records},
        {"nothing is lost", test_totals},
        {"every event comes out as it went in", test_events},
        {"a ring that is scribbled over", test_scribbled},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
