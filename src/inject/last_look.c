/* last_look - see last_look.h. */
#include "inject/last_look.h"

#include "inject/buffer.h"
#include "inject/process.h"
#include "inject/sys.h"

#define STILL_MOST_NS                                                                              \
    3000000000u /* that the collector's clock stands still: it is stuck, or dead */
#define WAIT_STEP_US 500

static _Atomic bool asked;

/* While it looks, the collector moves its clock. */
static void wait_for_answer(const struct thread *t)
{
    uint64_t now = sys_now_ns(), moved = now, seen = 0, tick;

    while (!atomic_load_explicit(&t->slot->answered, memory_order_acquire) &&
           mode_is_exact(process_mode()) && now - moved < STILL_MOST_NS) {
        sys_pause_us(WAIT_STEP_US);
        process_check();
        tick = atomic_load_explicit(&process.control->tick, memory_order_relaxed);
        now = sys_now_ns();
        moved = tick != seen ? now : moved;
        seen = tick;
    }
    atomic_store(&t->slot->answered, 0);
}

/* Registers that a caller has left something in are put on the stack, where it can be seen. */
static OUTLINE void ask(struct thread *t)
{
    uint64_t where[2] = {(uintptr_t)__builtin_frame_address(0),
                         (uintptr_t)__builtin_thread_pointer()};
    uint64_t words[2] = {0, (uint64_t)sizeof(where) << 32 | sizeof(where)};

    __builtin_unwind_init();
    buffer_moment(t);
    atomic_store(&t->slot->answered, 0);
    buffer_put(t, buffer_word(RING_MARK, RING_MARK_REACH, 0), words, 2, (const char *)where,
               sizeof(where));
    wait_for_answer(t);
}

void last_look(struct thread *t)
{
    if (process.control->wants & RING_WANTS_REACH && !sys_silent && !local.parked &&
        mode_is_exact(process_mode()) && !atomic_exchange(&asked, true))
        ask(t);
}

void last_look_forked(void)
{
    atomic_store(&asked, false);
}
