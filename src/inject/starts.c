/* starts - threads that the program starts: each is recorded from its first moment, with the stack
 * that started it, so that the work of a pool counts for whoever asked for it.
 *
 * What the new thread needs to know stands in memory of ours until it has begun.
 */
#include "inject/buffer.h"
#include "inject/real.h"
#include "inject/record.h"
#include "inject/sys.h"
#include "inject/unwind.h"

#include <errno.h>
#include <pthread.h>

#define STARTS 64u /* threads that are being started at once; more get a page each */

struct start {
    void *(*run)(void *);
    void *argument;
    uint32_t creator;
    uint8_t masked;
    _Atomic uint8_t taken;
    size_t stack_bytes; /* 0: not known */
};

static struct start starts[STARTS];
static _Atomic size_t standard_bytes; /* of a stack */

static struct start *take_start(void)
{
    for (unsigned int i = 0; i < STARTS; i++) {
        if (!atomic_exchange_explicit(&starts[i].taken, 1, memory_order_acquire))
            return &starts[i];
    }
    return sys_memory(sizeof(struct start));
}

static void give_back(struct start *s)
{
    if (s >= starts && s < starts + STARTS)
        atomic_store_explicit(&s->taken, 0, memory_order_release);
    else
        sys_unmap(s, sizeof(*s));
}

/* What libc gives a thread whose attributes do not say: learned once. */
static size_t usual_bytes(void)
{
    size_t bytes = atomic_load_explicit(&standard_bytes, memory_order_relaxed);
    pthread_attr_t usual;

    if (bytes || pthread_attr_init(&usual))
        return bytes;
    if (real_now()->pthread_attr_getstacksize(&usual, &bytes))
        bytes = 0;
    pthread_attr_destroy(&usual);
    atomic_store_explicit(&standard_bytes, bytes, memory_order_relaxed);
    return bytes;
}

static uint32_t who(struct caller c)
{
    uint32_t stack = 0;
    struct thread *t = record_enter(c.sp);

    if (t) {
        buffer_now(t);
        stack = unwind_stack(t, c.pc, c.sp, c.fp);
        record_leave();
    }
    return stack;
}

/* libc keeps a thread's descriptor at the top of its stack. Asking it for the bounds would
 * allocate, and the thread may be one that never does.
 */
static void enter(const struct start *s)
{
    uintptr_t top = (uintptr_t)pthread_self();
    struct birth birth = {s->creator, 0, top};

    if (s->stack_bytes)
        birth.stack_low = ((top - s->stack_bytes) | 4095u) + 1;
    local.masked = s->masked;
    local.birth = &birth;
    local.quiet = 1;
    if (record_enter((uintptr_t)__builtin_frame_address(0)))
        record_leave();
    local.quiet = 0;
    local.birth = NULL;
}

static void *begin(void *given)
{
    struct start s = *(struct start *)given;

    give_back(given);
    enter(&s);
    return s.run(s.argument);
}

static OUTLINE int create_recorded(pthread_t *id, const pthread_attr_t *attributes,
                                   void *(*run)(void *), void *argument)
{
    int kept = errno, result;
    struct start *s = take_start();

    if (!s)
        return real_now()->pthread_create(id, attributes, run, argument);
    s->run = run;
    s->argument = argument;
    s->creator = who(CALLER());
    s->masked = local.masked;
    if (!attributes || real_now()->pthread_attr_getstacksize(attributes, &s->stack_bytes))
        s->stack_bytes = usual_bytes();
    errno = kept;
    result = real_now()->pthread_create(id, attributes, begin, s);
    if (result)
        give_back(s);
    return result;
}

EXPORT int pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    if (process_mode() == RING_OFF)
        return real_now()->pthread_create(id, attributes, run, argument);
    return create_recorded(id, attributes, run, argument);
}
