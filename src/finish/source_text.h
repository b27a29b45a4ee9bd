/* source_text - put the source that a trace refers to into it, while the files are at hand, so that
 * it can be read on another machine and after the files were changed.
 */
#ifndef FINISH_SOURCE_TEXT_H
#define FINISH_SOURCE_TEXT_H

#include "base/err.h"
#include "base/rights.h"
#include "trace/store.h"

/* Read the lines of code that the trace at `path`, which `store` is still writing, refers to, and
 * add SOURCE records: the program's own files whole, of others those lines. `command`: what was
 * run, or NULL. Files that cannot be read with these rights, the program's, stay without text. -1
 * with *err when the trace cannot be read back.
 */
int source_text_add(const char *path, struct trace_store *store, const char *command,
                    const struct rights *rights, struct err *err);

#endif
