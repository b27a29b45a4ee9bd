/* pymem - the allocators of a Python interpreter, see pymem.c. */
#ifndef INJECT_PYMEM_H
#define INJECT_PYMEM_H

#include <link.h>

/* Look for an interpreter and put our layer on its allocators. For our start, be it with the
 * program or in a running one.
 */
void pymem_start(void);

/* A module that was not seen before, maybe from a signal handler; and modules have gone. */
void pymem_module(const struct link_map *map);
void pymem_unloaded(void);

/* From time to time, from within any allocation: is our layer still there? An interpreter may have
 * set its allocators anew, as it does in Py_Initialize and as a program may at any time.
 */
void pymem_check(void);

#endif
