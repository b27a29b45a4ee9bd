/* pymem - the allocators of a Python interpreter, see pymem.c. */
#ifndef INJECT_PYMEM_H
#define INJECT_PYMEM_H

/* Look for an interpreter and put our layer on its allocators, now and whenever one comes or sets
 * its allocators anew. For our start, be it with the program or in a running one.
 */
void pymem_start(void);

#endif
