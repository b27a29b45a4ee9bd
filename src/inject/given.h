/* given - what a program hands to a function of libc's that only the kernel would read: it may lead
 * nowhere, which is an error then, and must not become a fault of ours.
 */
#ifndef INJECT_GIVEN_H
#define INJECT_GIVEN_H

#include <stdbool.h>

/* Can all of it be read? Where the kernel cannot be asked, that is taken for granted. */
bool given_text(const char *text);
bool given_environment(char *const *environment);

#endif
