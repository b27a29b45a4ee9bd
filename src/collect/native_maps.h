/* native_maps - where a process has code, by the text of its /proc/PID/maps. */
#ifndef COLLECT_NATIVE_MAPS_H
#define COLLECT_NATIVE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct native_range { /* that may be executed */
    uintptr_t start, end;
    uintptr_t
        header; /* where the file's first bytes are; 0: it is of none, or they are not there */
    const char *path; /* of the file, in the text; NULL: none */
    size_t path_bytes;
};

struct native_maps { /* zeroed: nothing is known */
    char *text;
    size_t bytes;
    struct native_range *list; /* by address */
    size_t count, room;
};

/* Take a text that malloc has made, which ends with a NUL. */
void native_maps_take(struct native_maps *m, char *text, size_t bytes);
/* False: there is none, or it is too long. */
bool native_maps_read(struct native_maps *m, uint32_t pid);
void native_maps_free(struct native_maps *m);

/* NULL: there is no code. */
const struct native_range *native_maps_at(const struct native_maps *m, uintptr_t address);

#endif
