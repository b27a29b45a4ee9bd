/* seen - which files were looked at for a file of code, there or not, and what they were: for those
 * who keep the answers, and must know when they hold no more.
 */
#ifndef NAMER_SEEN_H
#define NAMER_SEEN_H

#include "resolve/index.h"

struct seen {
    struct strings *strings; /* which its paths are kept in */
    const char *paths[INDEX_WITNESSES_MOST];
    struct samefile files[INDEX_WITNESSES_MOST];
    uint32_t count;
    bool uncertain; /* the answers depend on something else as well */
};

/* Before it is opened. `file` is what stat says, NULL where it is not there. Returns the path,
 * kept.
 */
const char *seen_file(struct seen *s, const char *path, const struct stat *file);

/* The same for one that others will open. */
void seen_path(struct seen *s, const char *path);

/* And the libraries that read them: another version may see more. */
void seen_readers(struct seen *s);

#endif
