/* numbers - numbers for 64-bit keys, given in turn; threads and signal handlers ask at once,
 * without a lock.
 *
 * The entries stand in the order of their numbers, so what is new is beside what was new just
 * before, here and in all tables that others keep by these numbers. Keys are found through an
 * index: segments, each four times the one before, in which a key has one group of eight places.
 */
#ifndef INJECT_NUMBERS_H
#define INJECT_NUMBERS_H

#include "inject/lookup.h"

struct numbers { /* zeroed is empty */
    _Atomic uint32_t count;
    _Atomic(struct lookup_entry *) entries[LOOKUP_SEGMENTS]; /* by number, from 1 */
    _Atomic(_Atomic uint64_t *) index[LOOKUP_SEGMENTS];      /* a part of the key's hash | number */
};

/* The entry of a key, made unless it is there; its number. Keys are not 0. */
enum lookup_claim numbers_claim(struct numbers *n, uint64_t key, uint32_t *number,
                                struct lookup_entry **entry);

/* A number for a key that nobody shall find; 0: there are no more. Half of them are kept for the
 * others. */
uint32_t numbers_unseen(struct numbers *n);

void numbers_forget(
    struct numbers *n); /* all; others may still read the old ones: they stay mapped */

#endif
