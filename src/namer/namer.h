/* namer - what resolve.h promises, in this process: the files of code are read here. */
#ifndef RESOLVE_NAMER_H
#define RESOLVE_NAMER_H

#include "resolve/resolve.h"

struct namer;

/* Each as its namesake of resolve.h. */
struct namer *namer_create(const struct resolver_options *o, struct err *err);
void namer_free(struct namer *n);
int namer_address(struct namer *n, const char *module_path, const char *build_id_hex,
                  uint64_t address, struct resolved_name *out, int most);
const char *namer_problem(const struct namer *n, const char *module_path);

#endif
