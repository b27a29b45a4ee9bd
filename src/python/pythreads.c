/* pythreads - see pythreads.h. Lists may change while they are read: each has a limit, and what is
 * found is checked by the one who asks.
 */
#include "python/pythreads.h"

#include "arch/arch.h"

#define INTERPRETERS_MOST 64
#define THREADS_MOST 4096

/* Before 3.11 a thread is known by its pthread_t alone, which is where glibc keeps its data; the
 * kernel's number is in there, at a place that the processor decides.
 */

bool py_thread_is(const struct py_layout *l, const struct py_memory *m, uintptr_t tstate,
                  uint32_t tid)
{
    uintptr_t id;
    uint32_t kernel_id;

    if (l->tstate_native_id != PY_ABSENT)
        return py_read_word(m, tstate + l->tstate_native_id, &id) && id == tid;
    return l->tstate_thread_id != PY_ABSENT && py_read_word(m, tstate + l->tstate_thread_id, &id) &&
           id && py_read(m, id + ARCH_PTHREAD_TID, &kernel_id, sizeof(kernel_id)) &&
           kernel_id == tid;
}

static uintptr_t find_in(const struct py_layout *l, const struct py_memory *m, uintptr_t interp,
                         uint32_t tid)
{
    uintptr_t tstate;

    if (!py_read_word(m, interp + l->interp_threads, &tstate))
        return 0;
    for (unsigned int i = 0; tstate && i < THREADS_MOST; i++) {
        if (py_thread_is(l, m, tstate, tid))
            return tstate;
        if (!py_read_word(m, tstate + l->tstate_next, &tstate))
            break;
    }
    return 0;
}

uintptr_t py_thread_find(const struct py_layout *l, const struct py_memory *m, uintptr_t runtime,
                         uint32_t tid)
{
    uintptr_t interp, tstate;

    if (!py_read_word(m, runtime + l->runtime_interpreters, &interp))
        return 0;
    for (unsigned int i = 0; interp && i < INTERPRETERS_MOST; i++) {
        tstate = find_in(l, m, interp, tid);
        if (tstate || !py_read_word(m, interp + l->interp_next, &interp))
            return tstate;
    }
    return 0;
}
