/* index - the names of a file of code by address, as one piece of bytes: what tidemark-resolve
 * makes of a file, and what is kept of it from one recording to the next.
 *
 * Its parts follow each other: the head, witnesses, ranges, nodes, strings. An address belongs to
 * the last range that begins at it or before; a range has a node, which is a name and the node of
 * the function that it is inlined into. Witnesses are the files that were looked at, there or not:
 * as long as each of them is what it was, reading the file again would give the same.
 *
 * The machine's own byte order. Nothing in it is believed: places are checked, and an outer node
 * comes before its inner ones, so a walk ends.
 */
#ifndef RESOLVE_INDEX_H
#define RESOLVE_INDEX_H

#include "base/samefile.h"
#include "resolve/resolved.h"
#include "resolve/sealed.h"
#include "resolve/strings.h"

#define INDEX_FORMAT 0x316e6d616e646974u
#define INDEX_NOTHING 0          /* a range's node: no names */
#define INDEX_UNKNOWN UINT32_MAX /* a range's node: nobody has looked */
#define INDEX_WITNESSES_MOST 64
#define INDEX_TEXT_MOST 65536
#define INDEX_DEPTH_MOST 256
#define INDEX_NO_DEBUG                                                                             \
    1u /* a flag: no debug information was found, where a server might have some */

#define INDEX_FEW 2u /* a flag: what was wanted, of a very large table of symbols */

struct index_head {
    uint64_t format, maker; /* what made it: index_maker */
    uint64_t base;          /* what the addresses of ranges count from */
    uint32_t witnesses, ranges, nodes, string_bytes;
    uint32_t path, id, problem; /* strings: what it is about; what resolver_problem says */
    uint32_t flags;
};

struct index_witness {
    uint64_t path; /* a string */
    struct samefile file;
};

struct index_range {
    uint32_t low, node;
};

struct index_node { /* function and file are strings, 0: unknown */
    uint32_t function, file, line, outer;
};

/* A string is a uint32_t with its length, and its bytes; its number is where it begins. At 0 is the
 * empty one.
 */

struct index {
    struct sealed pages;
    struct index_head head;
};

/* False, and `pages` are closed, when they hold no index of this file by this maker. */
bool index_open(struct index *x, struct sealed *pages, const char *path, const char *id,
                uint64_t maker);
void index_close(struct index *x);

/* Is every file that was looked at what it was then? `settled`: and was none of them changed so
 * short a time ago that another change might not show?
 */
bool index_holds(struct index *x, bool settled);

/* The node of an address; INDEX_UNKNOWN where nobody has looked. */
uint32_t index_node(struct index *x, uint64_t address);

/* Where each range begins that somebody has looked at, at most `room` of them. Returns how many. */
size_t index_known(struct index *x, uint64_t *out, size_t room);

/* As resolver_address, of a node; -1 when it is not known. */
int index_names(struct index *x, struct strings *s, uint32_t node, struct resolved_name *out,
                int most);
const char *index_problem(struct index *x, struct strings *s);

/* A number for the program that makes them: another version gives another one. 0: it cannot be
 * known.
 */
uint64_t index_maker(const char *helper);

#endif
