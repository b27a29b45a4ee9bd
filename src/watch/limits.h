/* limits - the limits that we were started under: ours may be stretched, the command gets its own.
 */
#ifndef WATCH_LIMITS_H
#define WATCH_LIMITS_H

/* Let ourselves have what the hard limits allow. The first time, what was before is kept. */
void limits_raise(void);

/* What was before, for a process that becomes the command. Safe after vfork. */
void limits_restore(void);

/* Call `work` with a stack that is large enough for the tool, whatever the limit; what it returns.
 */
int limits_on_stack(int (*work)(int argc, char **argv), int argc, char **argv);

#endif
