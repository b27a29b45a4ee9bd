/* started - see started.h.
 *
 * Between vfork and exec we stand in the parent's memory, and tell it in the ring of the thread
 * that waits for us: a ring that was opened here would be of a thread that is gone at once. A
 * forked child that runs Python has one of its own (in_child in record.c).
 */
#include "inject/started.h"

#include "inject/buffer.h"
#include "inject/process.h"
#include "inject/python.h"
#include "inject/record.h"
#include "inject/unwind.h"

#include <errno.h>

void started_tell(pid_t pid, struct caller by)
{
    struct thread *t = local.thread;
    uint64_t words[2] = {0};
    int kept = errno;

    if (!t || t->session != home.session || !python_is_read() || !process_collected())
        return;
    local.quiet++;
    t = record_enter(by.sp);
    if (t) {
        buffer_now(t);
        words[0] = unwind_stack(t, by.pc, by.sp, by.fp);
        buffer_put(t, buffer_word(RING_MARK, RING_MARK_STARTED, (uintptr_t)pid), words, 2, NULL, 0);
        record_leave();
    }
    local.quiet--;
    errno = kept;
}
