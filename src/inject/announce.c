/* announce - see announce.h. */
#include "inject/announce.h"

#include "inject/ask.h"
#include "inject/buffer.h"
#include "inject/context.h"
#include "inject/own_rank.h"
#include "inject/process.h"
#include "inject/python.h"
#include "inject/sys.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define NAME_BYTES 16 /* the kernel's */

static _Atomic bool announced;

static struct { /* of the process that told it last: of ours, or of our parent as we were forked */
    long pid;
    uint64_t pid_namespace;
} told;

/* Whose numbers our pid is of: a collector in another pid namespace knows us by another. Without a
 * /proc it is that of our parent, if we see that by its number: one in another namespace is 0 to
 * us.
 */
static uint64_t pid_namespace(void)
{
    struct stat st = {0};

    if (sys_failed(
            sys_call(SYS_newfstatat, AT_FDCWD, (long)"/proc/self/ns/pid", (long)&st, 0, 0, 0)))
        st.st_ino = sys_call(SYS_getppid, 0, 0, 0, 0, 0, 0) == told.pid ? told.pid_namespace : 0;
    told.pid = sys_pid();
    told.pid_namespace = st.st_ino;
    return st.st_ino;
}

/* 0: it is in another pid namespace, or we must not ask. */
static uint32_t parent_pid(void)
{
    long pid = sys_call(SYS_getppid, 0, 0, 0, 0, 0, 0);

    return sys_failed(pid) ? 0 : (uint32_t)pid;
}

static void announce_process(struct thread *t)
{
    char text[RING_TEXT_MOST];
    uint64_t words[4];
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
    words[1] = (uint64_t)parent_pid() << 32 | process.parent;
    words[2] = (uint64_t)bytes;
    words[3] = pid_namespace();
    ask_to_know(process_number()); /* first: who reads the record looks for that */
    buffer_now(t);
    buffer_put(t, RING_PROCESS, words, 4, text, (size_t)bytes);
    python_tell(t);
    own_rank_tell(t);
}

void announce_thread(struct thread *t)
{
    uint64_t words[3] = {
        t->stack_low, t->stack_high > t->stack_low ? t->stack_high - t->stack_low : 0, t->creator};

    announce_process(t);
    buffer_now(t);
    buffer_put(t, buffer_word(RING_THREAD, 0, (uintptr_t)t->tid), words, 3, NULL, 0);
    context_tell(t);
}

void announce_anew(void)
{
    atomic_store(&announced, false);
}
