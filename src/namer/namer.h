/* namer - what resolve.h promises, in this process: the files of code are read here. */
#ifndef NAMER_NAMER_H
#define NAMER_NAMER_H

#include "resolve/resolve.h"

struct namer;
struct indexed; /* indexer.h */

/* Each as its namesake of resolve.h. */
struct namer *namer_create(const struct resolver_options *o, struct err *err);
void namer_free(struct namer *n);
int namer_address(struct namer *n, const char *module_path, const char *build_id_hex,
                  uint64_t address, struct resolved_name *out, int most);
/* See indexer.h. */
void namer_want(struct namer *n, const char *module_path, const char *build_id_hex,
                const uint64_t *addresses, size_t count);
bool namer_index(struct namer *n, const char *module_path, const char *build_id_hex, bool all,
                 uint64_t maker, struct indexed *out);
const char *namer_problem(const struct namer *n, const char *module_path);

#endif
