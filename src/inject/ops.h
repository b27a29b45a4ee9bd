/* ops - the operators of a framework, each with its beginning and its end in a thread. Many
 * thousands of them run in a second: a record of each is one word, and its name is told once.
 */
#ifndef INJECT_OPS_H
#define INJECT_OPS_H

#include <stdbool.h>

struct ranges_name;

/* Is it asked for? Also while a recording is paused: what has begun must end. */
bool ops_wanted(void);

/* Those of a thread nest. */
void ops_begin(const struct ranges_name *name);
void ops_end(void);

#endif
