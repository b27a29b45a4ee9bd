/* wait_cause - what a thread waits for, from the system call that it is in. */
#ifndef COLLECT_WAIT_CAUSE_H
#define COLLECT_WAIT_CAUSE_H

#include "trace/format.h"

/* `number` -1: in none, so it waits for a page. */
enum trace_cause wait_cause(long number);

#endif
