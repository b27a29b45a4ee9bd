/* ops - see ops.h. */
#include "inject/ops.h"

#include "inject/buffer.h"
#include "inject/process.h"
#include "inject/ranges.h"
#include "inject/record.h"

#include <errno.h>
#include <string.h>

bool ops_wanted(void)
{
    return process.control->wants & RING_WANTS_OPS;
}

/* A thread tells the names that it uses itself; a forked child's are unknown. */
static void tell_name(struct thread *t, const struct ranges_name *n)
{
    uint32_t number = atomic_load_explicit(&process.number, memory_order_relaxed);
    uintptr_t *known = &t->op_names[((uintptr_t)n >> 5) % THREAD_OP_NAMES];
    size_t bytes;
    uint64_t words[1];

    if (unlikely(t->ops_of != number)) {
        memset(t->op_names, 0, sizeof(t->op_names));
        t->ops_of = number;
    }
    if (likely(*known == (uintptr_t)n))
        return;
    *known = (uintptr_t)n;
    bytes = strnlen(n->text, RING_TEXT_MOST);
    words[0] = (uint64_t)bytes << 32;
    buffer_put(t, buffer_word(RING_OP_NAME, 0, (uintptr_t)n), words, 1, n->text, bytes);
}

static void put(unsigned int what, const struct ranges_name *n, uintptr_t frame)
{
    int kept = errno;
    struct thread *t;

    local.quiet = 1;
    t = record_enter(frame);
    if (t) {
        buffer_now(t);
        if (n)
            tell_name(t, n);
        buffer_free(t, buffer_word(RING_OP, what, (uintptr_t)n));
        record_leave();
    }
    local.quiet = 0;
    errno = kept;
}

void ops_begin(const struct ranges_name *name)
{
    put(RING_OP_BEGIN, name, CALLER().sp);
}

void ops_end(void)
{
    put(RING_OP_END, NULL, CALLER().sp);
}
