/* obstacle - whether our library can be loaded into a program, and if not, why. */
#ifndef WATCH_OBSTACLE_H
#define WATCH_OBSTACLE_H

/* What keeps the library out of this process, as half a sentence; NULL: nothing that can be seen. */
const char *obstacle_of(int pid);

#endif
