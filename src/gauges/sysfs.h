/* sysfs - what small files of the kernel say of devices: pure functions over their text. */
#ifndef GAUGES_SYSFS_H
#define GAUGES_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYSFS_NAME 64

/* The number that a text begins with; ABSENT: there is none. */
uint64_t sysfs_number(const char *text);
/* The value of a line KEY=value, as in a uevent; false, and "": there is none. */
bool sysfs_value(const char *text, const char *key, char *out, size_t room);
/* The number of a line "NAME number", as in a node of kfd; ABSENT: there is none. */
uint64_t sysfs_property(const char *text, const char *name);
/* The first line "NAME number", as control groups have them: what follows it; NULL: there is none.
 */
const char *sysfs_next(const char *text, char name[SYSFS_NAME], uint64_t *number);

#endif
