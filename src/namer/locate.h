/* locate - find the separate file that holds the debug information of a file of code. */
#ifndef NAMER_LOCATE_H
#define NAMER_LOCATE_H

#include "namer/image.h"
#include "resolve/resolve.h"

/* By build-id (`id`, hex, "" for none) below the debug directories, by the .gnu_debuglink of `code`
 * (not open: none), and last, where allowed, through debuginfod. Only a file that provably belongs
 * to the code is opened as `debug`. False when there is none.
 */
bool locate_debug(const struct resolver_options *o, const char *path, struct image *code,
                  const char *id, struct image *debug);

#endif
