/* obstacle - whether our library can be loaded into a program, and if not, why. */
#ifndef WATCH_OBSTACLE_H
#define WATCH_OBSTACLE_H

#include <stdbool.h>

struct obstacle {
    const char *text; /* half a sentence */
    bool partly;      /* the library is there, but does not see everything */
};

/* What keeps the library out of this process; NULL: nothing that can be seen. */
const struct obstacle *obstacle_of(int pid);

/* The same for one that we enter ourselves: whose user it is of makes no difference then. */
const struct obstacle *obstacle_in_program(int pid);

/* The same of a process that ran this file. */
const struct obstacle *obstacle_in_file(const char *file);

/* Whether the program of this command breaks or complains when it is to load our library. */
bool obstacle_breaks(const char *command);

#endif
