/* window - see window.h. */
#include "inject/window.h"

#include "inject/buffer.h"
#include "inject/process.h"

static _Atomic bool been;             /* in a window of its own */
static _Atomic uint64_t steps_so_far; /* for the marks of windows */

static bool is_asked_for(uint64_t step)
{
    const struct ring_control *c = process.control;

    for (uint32_t i = 0; i < c->window_count && i < RING_WINDOWS; i++)
        if (step >= c->windows[i].first && step <= c->windows[i].last)
            return true;
    return false;
}

uint64_t window_been(void)
{
    return atomic_load_explicit(&been, memory_order_relaxed) ||
           (process_follows() &&
            atomic_load_explicit(&process.control->windows_opened, memory_order_relaxed));
}

void window_begin_anew(void)
{
    atomic_store(&been, false);
}

static void tell(struct thread *t, bool inside)
{
    uint64_t words[2] = {atomic_load(&steps_so_far), 0};

    buffer_put(t, buffer_word(RING_MARK, inside ? RING_MARK_WINDOW : RING_MARK_WINDOW_END, 0),
               words, 2, NULL, 0);
}

void window_move(struct thread *t, bool inside)
{
    bool was = !(process_mode() & RING_OUTSIDE);

    process_window(inside);
    if (was)
        atomic_store(&been, true);
    if (was == inside)
        return;
    if (inside) {
        atomic_store(&been, true);
        atomic_fetch_add(&process.control->windows_opened, 1);
    }
    tell(t, inside);
}

/* With its first step it no longer follows others. */
void window_step(struct thread *t, uint64_t ended)
{
    bool inside;

    atomic_store(&steps_so_far, ended);
    if (!process.control->window_count)
        return;
    inside = is_asked_for(ended + 1);
    if (ended == 1 || inside != is_asked_for(ended))
        window_move(t, inside);
}
