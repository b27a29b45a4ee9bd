/* got - calls that the loader's search order does not bring to us.
 *
 * Preloaded, our functions come first and every object is bound to them. Not so in a process that
 * ran before we came (attach), in an object that was loaded with RTLD_DEEPBIND, and in a namespace
 * of its own (dlmopen). There we write the address of our function into the object's table of
 * addresses (its relocations say where), if it holds the function that we stand for, and write the
 * old value back at the end. No code is changed.
 */
#ifndef INJECT_GOT_H
#define INJECT_GOT_H

#include <stdbool.h>

/* All objects there are: find the functions that the program really uses, and take their place. */
void got_take_over(void);

/* The program's copies, if they are wanted, and the operators of its allocator: see copies.h and
 * operators.h.
 */
void got_more(void);
bool got_copying(void);
/* There is more: a device's library has come (device_files.h), or memory is guarded
 * (guard_calls.h). */
void got_anew(void);

/* Objects have come: look at those that were not seen yet, if we have any business with them; bound
 * to others than us, or for their copies alone.
 */
void got_loaded(bool bound_elsewhere);
/* Objects have gone: what was seen at their addresses may be something else next time. */
void got_unloaded(void);
/* Somebody else may have loaded something, we could not look then: look now. */
void got_catch_up(void);
void got_expect(bool bound_elsewhere);

bool got_taken_over(void);

/* Put everything back. */
void got_give_back(void);

#endif
