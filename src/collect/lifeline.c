/* lifeline - see lifeline.h.
 *
 * It is a list of robust futexes with one entry, as futex(7) has it. Entry and list are our own
 * memory: nothing that another process writes to the word leads the kernel anywhere else. libc has
 * such a list for its robust mutexes, of which this program has none.
 */
#include "collect/lifeline.h"

#include "trace/ring.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(RING_COLLECTOR_DIED == FUTEX_OWNER_DIED, "the kernel says it otherwise");

static struct robust_list entry;
static struct robust_list_head list;

void lifeline_hold(_Atomic uint32_t *word)
{
    atomic_store(word, (uint32_t)syscall(SYS_gettid));
    entry.next = &list.list;
    list = (struct robust_list_head){{&entry}, (char *)word - (char *)&entry, NULL};
    syscall(SYS_set_robust_list, &list, sizeof(list));
}

void lifeline_drop(void)
{
    list.list.next = &list.list;
}
