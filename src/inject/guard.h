/* guard - the pages that lie wholly in watched memory are kept from being written to, so that who
 * writes there is met by a fault: see faults.h. The page is opened for it and closed again later,
 * by one call for all of them.
 *
 * Nothing here allocates, and a fault's handler takes no lock: it opens pages, which never harms.
 * Whoever closes them does so under a lock, as the kernel itself must never meet a closed page: a
 * system call that writes into one would fail. Calls that are known to do so open it first
 * (guard_calls.h) and keep it open meanwhile.
 */
#ifndef INJECT_GUARD_H
#define INJECT_GUARD_H

#include "inject/guard_check.h"

#include <stddef.h>

#define GUARDS 64u

/* Keep the pages of this block, in the place that it has in the list of watched memory. */
enum ring_why guard_begin(unsigned int place, uintptr_t address, size_t bytes);
void guard_end(unsigned int place);
/* All of them, also in a forked child: the pages are as they were. */
void guard_end_all(void);

/* Pages are closed again while this says yes. */
void guard_while(bool (*ready)(void));

/* Is this a forked child of the process whose they are? */
bool guard_inherited(void);

/* Is any kept? */
bool guard_any(void);

/* The pages that are kept of one; false: none are, or no longer. */
bool guard_pages(unsigned int place, uintptr_t *low, uintptr_t *high);
/* Why it is not kept any more, asked once. */
enum ring_why guard_lost(unsigned int place);

/* Close what was opened. True: somebody may have written there since this was asked before. */
bool guard_close(unsigned int place);
/* The same now and then, for all that have been open for long. */
void guard_now_and_then(void);

struct guard_hit {
    unsigned int place;
    uintptr_t page;
    uint32_t since; /* how many came before it since the pages were closed */
};

/* Of a fault: was it for one of these pages, which is open now? */
bool guard_fault(uintptr_t address, struct guard_hit *hit);
/* Close one page again, after its instruction. */
void guard_close_page(const struct guard_hit *hit);
/* Can this word be written now? Then the fault was for a page that has been opened since. */
bool guard_is_open(uintptr_t address);

/* The kernel is about to write here: what is kept of it is open until guard_unpin gets what was
 * added to *pinned, a bit for each guard.
 */
void guard_pin(uintptr_t address, size_t bytes, uint64_t *pinned);
void guard_unpin(uint64_t pinned);

/* The program gives the memory another meaning: it is kept no longer. */
void guard_release(uintptr_t address, size_t bytes, enum ring_why why);

#endif
