/* cache - indices of files of code that are kept (base/kept.h) from one recording to the next. */
#ifndef RESOLVE_CACHE_H
#define RESOLVE_CACHE_H

#include "resolve/index.h"

/* What is known of a file of code by this maker; false when nothing is, or when it may have
 * changed.
 */
bool cache_find(struct index *x, const char *path, const char *id, uint64_t maker);

/* Keeps an index, unless its files have changed since or so lately that the next change might not
 * show.
 */
void cache_keep(struct index *x, const char *path, const char *id);

#endif
