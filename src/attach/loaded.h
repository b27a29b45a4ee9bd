/* loaded - the objects in the memory of another process: where they are, what they define. */
#ifndef ATTACH_LOADED_H
#define ATTACH_LOADED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loaded_symbol {
    uint64_t at, bytes;
    const char *name;
};

struct loaded_object {
    char path[256];                /* as the kernel shows it, cut */
    uint64_t from, to;             /* all of it */
    uint64_t code_from, code_to;   /* what can be executed */
    struct loaded_symbol *symbols; /* functions that it defines for others, by address */
    size_t symbol_count;
    char *names;
};

struct loaded {
    int pid, memory; /* /proc/PID/mem */
    struct loaded_object *objects;
    size_t count, room;
};

/* -1: its memory cannot be read; errno says why. `part` is in the path of those that are wanted;
 * NULL: all are.
 */
int loaded_open(struct loaded *l, int pid, const char *part);
void loaded_close(struct loaded *l);

bool loaded_read(const struct loaded *l, uint64_t at, void *to, size_t bytes);
bool loaded_write(const struct loaded *l, uint64_t at, const void *from, size_t bytes);

/* The object that defines a function, the first in memory; NULL: none. */
const struct loaded_object *loaded_find(const struct loaded *l, const char *name, uint64_t *at);
uint64_t loaded_symbol(const struct loaded_object *o, const char *name); /* 0: not there */

/* The code around a function that belongs to no other function: it may be a part of the same file,
 * such as those that it calls.
 */
bool loaded_around(const struct loaded_object *o, const char *name, uint64_t *from, uint64_t *to);

#endif
