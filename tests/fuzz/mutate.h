/* mutate - what the fuzzers of traces share: a mutator that changes the records inside the
 * compressed chunks, field by field, because changing compressed bytes almost never gets beyond the
 * checksum, and changing the bytes of records mostly shifts what follows.
 *
 * It takes kinds and their fields from the table of format.h, so that a new kind is reached at
 * once. libFuzzer calls it by a name of its own; without libFuzzer replay.h does, some times for
 * each file.
 */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* Change a trace, in a way that follows from the seed; its new size. */
size_t mutate_trace(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* Change one record, or several, of the records that a chunk holds; the new size. `count` has their
 * number and is kept up to date. 0: there is none that could be changed.
 */
size_t mutate_records(uint8_t *raw, size_t size, size_t room, uint32_t *count, unsigned int seed);

#endif
