/* heap_counts - how sure numbers of blocks are, and what a sampled recording says where it has no
 * sample.
 *
 * A sampled block of n bytes was taken with probability p = 1 - exp(-(n + 1) / mean) and stands for
 * w = 1 / p blocks. Each is taken or not by itself, so w * (w - 1) is an unbiased estimate of its
 * part of the variance of the number (Horvitz and Thompson). But it is an estimate by the samples
 * alone: a hundred thousand small blocks, of which none was among them, are not in it. So one
 * sample more counts that might have been: of the smallest blocks that may be there. Beside many
 * samples it is nothing.
 */
#ifndef MODEL_HEAP_COUNTS_H
#define MODEL_HEAP_COUNTS_H

#include "model/heap_rows.h"

#define HEAP_COUNTS_LEAST 8u /* bytes: few programs ask for many smaller ones */

/* The least that a block of a row may have. */
uint64_t heap_row_least(const struct heap_row *row);

/* The standard error of a number of blocks in percent, where none has less than `least` bytes;
 * below 0: it is exact, or there are none.
 */
double heap_counts_error(const struct heap *h, const struct heap_amount *a, uint64_t least);

/* The standard error in percent of the bytes of all there is: also blocks of which none was sampled
 * may be there, so two samples more count that might have been. Below 0: it is exact, or there are
 * none.
 */
double heap_whole_error(const struct heap *h, const struct heap_amount *a);

/* No sample was among it: with 95 % it has less than so many bytes. */
uint64_t heap_counts_bound(const struct heap *h);

#endif
