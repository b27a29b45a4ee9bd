/* obstacle - whether our library can be loaded into a program, and if not, why. */
#ifndef ATTACH_OBSTACLE_H
#define ATTACH_OBSTACLE_H

#include <stdbool.h>

/* The same words wherever one is named: half a sentence. */
#define OBSTACLE_MACHINE "it is a 32-bit program or one for another processor"
#define OBSTACLE_STATIC "it is statically linked"
#define OBSTACLE_LIBC "its libc is not glibc"
#define OBSTACLE_OLD_LIBC "its libc is older than glibc 2.17, which the library needs"
#define OBSTACLE_SANITIZED "it is built with a sanitizer, which must be the first to hook malloc"
#define OBSTACLE_USER "it runs with the rights of another user"
#define OBSTACLE_ROOT                                                                              \
    "it has a different root directory, from which the library or the recording cannot be reached"

struct obstacle {
    const char *text; /* half a sentence */
    bool partly;      /* the library is there, but does not see everything */
};

/* What keeps the library out of this process; NULL: nothing that can be seen. */
const struct obstacle *obstacle_of(int pid);
/* Whether it is the file that runs which keeps it out, and nothing that a process does itself. */
bool obstacle_is_programs(const struct obstacle *o);

/* The same for one that we enter ourselves: whose user it is of makes no difference then. */
const struct obstacle *obstacle_in_program(int pid);

/* The same of a process that ran this file. */
const struct obstacle *obstacle_in_file(const char *file);

/* The same of one that was started by this command, as the shell would. */
const struct obstacle *obstacle_in_command(const char *command);

/* Whether the program of this command breaks or complains when it is to load our library. */
bool obstacle_breaks(const char *command);

#endif
