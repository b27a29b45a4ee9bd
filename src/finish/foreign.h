/* foreign - files that a recorded program names, opened with no more rights than it had.
 *
 * Where ours are more, a child that has given them up opens the files and hands us their
 * descriptors.
 */
#ifndef FINISH_FOREIGN_H
#define FINISH_FOREIGN_H

#include "base/rights.h"

struct foreign {
    int socket; /* of the child; -1: none, files are not opened or by ourselves */
    pid_t pid;
    bool directly; /* our rights are not more than theirs */
};

void foreign_begin(struct foreign *f, const struct rights *r);
/* A regular file to read from; -1: there is none that may be read. Never waits for long. */
int foreign_open(struct foreign *f, const char *path);
void foreign_end(struct foreign *f);

#endif
