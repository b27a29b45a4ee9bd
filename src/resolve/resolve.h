/* resolve - from an address in a file of code to what a person calls it.
 *
 * A resolver answers from what lies on this machine: DWARF (inlined functions, files, lines) in the
 * file itself or in a separate debug file, else symbol tables, else nothing. A file that is no
 * longer the one that ran is never used. Files are hostile: what is damaged in them is unknown, and
 * never an error.
 *
 * The files are read by a helper process, tidemark-resolve: elfutils is large, and the tool must
 * stay small (ARCHITECTURE.md); and a file that brings the helper down costs the names of one
 * module.
 *
 * Everything it gives (names, files, sentences) lives until resolver_free, each text once. What it
 * keeps of the files themselves is bounded: those used longest ago are closed, and opened again
 * when needed, so ask for all addresses of one module before those of the next.
 */
#ifndef RESOLVE_RESOLVE_H
#define RESOLVE_RESOLVE_H

#include "base/err.h"
#include "resolve/resolved.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct resolver;

/* NULL `o`: no directories of one's own, nobody asked. NULL with *err when it cannot work. */
struct resolver *resolver_create(const struct resolver_options *o, struct err *err);
void resolver_free(struct resolver *r); /* NULL is fine */

/* What is at `address`, an ELF virtual address in the file `module_path`: of a call, so the address
 * to return to less one. `build_id_hex` (lower case) is what the file had when it ran, NULL or ""
 * where it had none (then any file at that path is believed). Fills `out` from the innermost
 * inlined function (0) to the function that holds it, up to `most`; returns how many, 0 when
 * nothing is known.
 */
int resolver_address(struct resolver *r, const char *module_path, const char *build_id_hex,
                     uint64_t address, struct resolved_name *out, int most);

/* The same for many addresses of one module, several times as fast: `each` is called once for every
 * address, in order, with names that it must copy the array of (but not the texts).
 */
void resolver_addresses(struct resolver *r, const char *module_path, const char *build_id_hex,
                        const uint64_t *addresses, size_t count,
                        void (*each)(void *to, size_t index, const struct resolved_name *names,
                                     int name_count),
                        void *to);

/* Why answers for this module are missing or poor: one sentence, or NULL when there is nothing to
 * say or nothing was asked about it.
 */
const char *resolver_problem(struct resolver *r, const char *module_path);

/* Why names are missing that might be there, because the helper cannot work or broke down: half a
 * sentence, or NULL.
 */
const char *resolver_broken(struct resolver *r);

#endif
