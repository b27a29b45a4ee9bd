/* baseline - peaks kept under a name, to be compared with later. One JSON file each. */
#ifndef CLI_BASELINE_H
#define CLI_BASELINE_H

#include "base/arena.h"
#include "base/err.h"
#include "report/run_report.h"

/* The directory: `given`, or the user's cache. Lives in the arena. */
const char *baseline_directory(struct arena *a, const char *given);

/* Where a name is kept; NULL with *err (code 2) when it is no name. */
const char *baseline_path(struct arena *a, const char *directory, const char *name,
                          struct err *err);

/* Make the directory and see that a file can be written there, before anything is measured. */
int baseline_prepare(const char *directory, struct err *err);

int baseline_save(const char *path, const struct baseline *b, struct err *err);
int baseline_load(struct arena *a, const char *path, const char *name, struct baseline *out,
                  struct err *err);

/* The names in a directory, sorted; their number. A directory that is not there holds none. */
size_t baseline_list(struct arena *a, const char *directory, const char ***names);

#endif
