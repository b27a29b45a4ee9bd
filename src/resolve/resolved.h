/* resolved - what a resolver is given, and what it gives. */
#ifndef RESOLVE_RESOLVED_H
#define RESOLVE_RESOLVED_H

#include "base/rights.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resolver_options {
    /* Looked through before /usr/lib/debug, and laid out like it; they must outlive the resolver.
     */
    const char *const *debug_directories;
    size_t debug_directory_count;
    const struct rights *rights; /* those that the files are opened with; NULL: ours */
    bool cache;          /* keep what was found from one resolver to the next: see cache.h */
    bool ask_debuginfod; /* run debuginfod-find, which may use the network, for what is not here */
    const char
        *helper; /* the path of tidemark-resolve; NULL: beside the tool or in ../lib/tidemark */
};

struct resolved_name {
    const char *function; /* demangled; NULL: unknown */
    const char *file;     /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
};

#endif
