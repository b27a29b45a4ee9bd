/* device - calls of a program to a vendor's library, which come to stubs of ours; what they mean is
 * in its table. */
#ifndef INJECT_DEVICE_H
#define INJECT_DEVICE_H

#include "inject/device_table.h"

/* What the program calls in the place of the function that is there; `real` itself where there is
 * no more room.
 */
uintptr_t device_stub(struct device_library *l, const struct device_call *call, uintptr_t real);
/* The same for one that has a stub already; 0: it has none. */
uintptr_t device_stub_of(uintptr_t real);

/* The calls that have one, and what they stand for, by place; real 0: nothing that has a name;
 * NULL: there are no more.
 */
const struct device_call *device_stub_at(size_t place, uintptr_t *ours, uintptr_t *real);

/* What the program gets where it asked a library for a function by its plain name and found `real`.
 */
uintptr_t device_found(struct device_library *l, const char *name, unsigned int version,
                       uintptr_t real);

/* What the program shall get where the library returned `result`. */
uintptr_t device_said(const struct device_call *call, const struct device_vendor *v,
                      const uintptr_t *a, uintptr_t result, struct caller c);

/* A call of the program that came to a stub. */
uintptr_t device_called(const struct device_call *call, struct device_library *l, uintptr_t real,
                        const uintptr_t *a, struct caller c);

#endif
