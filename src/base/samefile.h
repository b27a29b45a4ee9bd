/* samefile - whether a file is the one that it was: by where it is, how long, and when it was last
 * changed, which nobody but the kernel can set.
 */
#ifndef BASE_SAMEFILE_H
#define BASE_SAMEFILE_H

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* many times a tick of the clock that files are dated by */
#define SAMEFILE_SETTLED_NS 100000000u
#define SAMEFILE_COARSE_NS 3000000000u /* where files are dated by seconds, or every other one */

struct samefile { /* all 0: it is not there */
    uint64_t there, device, inode, bytes, modified_ns, changed_ns;
};

/* NULL: it is not there. */
static inline struct samefile samefile_of(const struct stat *file)
{
    if (!file)
        return (struct samefile){0};
    return (struct samefile){.there = 1,
                             .device = file->st_dev,
                             .inode = file->st_ino,
                             .bytes = (uint64_t)file->st_size,
                             .modified_ns = clock_ns_of(file->st_mtim),
                             .changed_ns = clock_ns_of(file->st_ctim)};
}

/* Whether the last change has a fraction of a second. Those of images of file systems, which are
 * set by who makes them, have none: there the same dates prove little.
 */
static inline bool samefile_is_dated(const struct samefile *f)
{
    return f->changed_ns % CLOCK_SECOND_NS != 0;
}

/* Whether it was changed so long ago that another change would show. */
static inline bool samefile_is_settled(const struct samefile *f)
{
    uint64_t newest = f->changed_ns > f->modified_ns ? f->changed_ns : f->modified_ns;
    uint64_t wait_ns = samefile_is_dated(f) ? SAMEFILE_SETTLED_NS : SAMEFILE_COARSE_NS;

    return !f->there || newest + wait_ns < clock_ns(CLOCK_REALTIME);
}

#endif
