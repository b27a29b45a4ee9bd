/* lifeline - a word in shared memory by which others see that this thread has ended, however. */
#ifndef COLLECT_LIFELINE_H
#define COLLECT_LIFELINE_H

#include <stdatomic.h>
#include <stdint.h>

/* The word gets our number; when we end, the kernel adds FUTEX_OWNER_DIED. One word for a thread.
 */
void lifeline_hold(_Atomic uint32_t *word);

/* Before the word's memory goes. */
void lifeline_drop(void);

#endif
