/* untold - programs that start others by system calls of their own: the library does not see that,
 * so nobody knows how many there were.
 */
#ifndef WATCH_UNTOLD_H
#define WATCH_UNTOLD_H

#include <stdbool.h>

/* Does the code of this file make such calls? It is the name of a program that was recorded, and is
 * looked at with a bound on the work for all; false: no, or it cannot be read.
 */
bool untold_in_file(const char *file);

#endif
