/* cut - see cut.h. */
#include "inject/cut.h"

#include "inject/state.h"
#include "inject/sys.h"
#include "inject/where.h"

#include <errno.h>
#include <signal.h>

/* Left with EINTR, or about to be gone on with by a call that fails after any handler. */
static bool is_ended(const ucontext_t *at)
{
    uintptr_t pc = arch_interrupted(at).pc;
    long result = arch_interrupted_result(at);

    return (result == -EINTR && where_after_call(pc)) ||
           (result == SYS_restart_syscall && where_at_call(pc));
}

/* Does a signal of the program wait for our handler's end? */
static bool is_other_pending(const ucontext_t *at)
{
    uint64_t pending = 0;

    sys_call(SYS_rt_sigpending, (long)&pending, sizeof(pending), 0, 0, 0, 0);
    return pending & ~at->uc_sigmask.__val[0];
}

void cut_note(const ucontext_t *at)
{
    if (is_ended(at) && !is_other_pending(at))
        local.cut = 1;
}
