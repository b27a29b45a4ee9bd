/* lookup - a set of 64-bit keys that threads and signal handlers use at once, without a lock.
 *
 * Segments, each four times the one before; a key may stand anywhere in one group of eight entries
 * per segment. Entries never move, so an entry's number is a name for its key. Keys are not 0 or 1.
 */
#ifndef INJECT_LOOKUP_H
#define INJECT_LOOKUP_H

#include "trace/ring.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define LOOKUP_SEGMENTS 9
/* entries of the first segment: a page, all that a short program needs */
#define LOOKUP_FIRST 256u

struct lookup_entry {
    _Atomic uint64_t key;
    _Atomic uint64_t value; /* 0 until somebody gives it one */
};

struct lookup {
    _Atomic(struct lookup_entry *) segments[LOOKUP_SEGMENTS];
    _Atomic uint32_t
        newest; /* where lookup_claim_new had to go last: what comes and goes is there */
};

enum lookup_claim { LOOKUP_FULL = -1, LOOKUP_FOUND = 0, LOOKUP_ADDED = 1 };

/* Add a key unless it is there; *number (from 1) is its entry. */
enum lookup_claim lookup_claim(struct lookup *t, uint64_t key, uint32_t *number);
/* The same, for who uses its value: unless LOOKUP_FULL. */
enum lookup_claim lookup_claim_entry(struct lookup *t, uint64_t key, uint32_t *number,
                                     struct lookup_entry **entry);
/* The same of a key that is known not to be there, and that nobody else adds: it is not looked for
 * first, nor are segments that were full. Only in a table where all is added so, or by the one
 * before for keys that may be there. */
enum lookup_claim lookup_claim_new(struct lookup *t, uint64_t key, uint32_t *number,
                                   struct lookup_entry **entry);
/* False: it was not there; *value: what it had. */
bool lookup_remove(struct lookup *t, uint64_t key, uint64_t *value);

/* The value of a key, be it new or not; keys below 2 are none. Who looks meanwhile may see the old
 * one, or 0. */
void lookup_set(struct lookup *t, uint64_t key, uint64_t value);

/* The same set used as a map: a value stands before its key can be found. No removal then. */
bool lookup_get(struct lookup *t, uint64_t key, uint64_t *value);
void lookup_put(struct lookup *t, uint64_t key, uint64_t value);

/* Each entry that has a key; those that come and go meanwhile may be met or not. */
void lookup_each(struct lookup *t, void (*visit)(struct lookup_entry *entry));

void lookup_forget(
    struct lookup *t); /* all keys; others may still read the old ones: they stay mapped */

#endif
