/* objects - which loaded object holds an address, and what namespaces of objects there are.
 *
 * Since glibc 2.35 the loader answers both. Before that, a table of our own is read without a lock,
 * also by a signal handler that has interrupted whoever writes it; it is made again after each
 * dlopen and dlclose, and where an address is in none of its objects though the loader has loaded
 * others since.
 */
#ifndef INJECT_OBJECTS_H
#define INJECT_OBJECTS_H

#include <link.h>
#include <stdbool.h>

#define OBJECTS_SPACES 4u /* namespaces besides the program's, at most */

struct object {
    const void *start, *end; /* of its mapping */
    const void *eh_frame;    /* its .eh_frame_hdr; NULL: none */
    const struct link_map *map;
};

/* False: no object holds it. */
bool objects_find(const void *address, struct object *found);

/* The first object of a namespace; 0 is the program's own. False: there is none in this place or in
 * a later one. NULL: none in this place. The loader's list stands still meanwhile.
 */
bool objects_space(unsigned int place, const struct link_map **first);

/* Whether the table is our own, so that the calls below matter. */
bool objects_are_ours(void);

/* Objects have come. Of another namespace than the program's, before glibc 2.35, nobody knows but
 * who gets a handle of it from dlmopen; NULL: it was dlopen.
 */
void objects_came(const void *handle);

/* A handle is about to be closed, and was. Between the two, nobody looks at its namespace: the
 * memory that leads to it may go any moment.
 */
struct objects_closing {
    unsigned int place;
    const struct link_map *first;
    unsigned long long unloaded;
};
struct objects_closing objects_close(const void *handle);
void objects_closed(const struct objects_closing *c);

#endif
