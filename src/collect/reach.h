/* reach - which blocks of a process does nothing point to? It waits meanwhile, or stands still.
 *
 * As LeakSanitizer does it: a word that is the address of a block, or of any byte in it, points to
 * it. Looked at are the data of the program and its libraries, the stacks of its threads from where
 * they stand, the data of threads, mappings that hold no blocks, and every block that is pointed to
 * from there. A pointer that is kept in another form is not seen, and a number may be taken for
 * one. What a process had allocated before it was attached to is not known: any memory of it is
 * looked at then, but for what is in a block.
 */
#ifndef COLLECT_REACH_H
#define COLLECT_REACH_H

#include "collect/members.h"

/* Look, and write an UNREACHED record for each info that has such blocks. */
void reach_look(struct collect *c, struct member *m);

/* The same of one that stands still; the records are of that time. False: it could not be read. */
bool reach_still(struct collect *c, struct member *m, const struct collect_still *still,
                 uint64_t time_ns);

#endif
