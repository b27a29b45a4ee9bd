/* mappings - what MMAP and MUNMAP mean: the memory that processes have mapped themselves at one
 * moment. Any part of a mapping may be unmapped, mapped over, moved, or closed and opened; the
 * parts go on by themselves. The one reader of these records, for who writes them and for who reads
 * them. Zeroed: none.
 *
 * What counts as memory of the program is told as changes that add up (struct mapping_change):
 *   - private anonymous memory, with its size, while somebody may touch it (PROT_NONE is addresses
 * alone)
 *   - shared memory, with its size; an object that is mapped twice counts once
 *   - of a reservation (MAP_NORESERVE) what was resident when somebody looked last
 * Files do not, nor do arenas of allocators whose blocks are told one by one.
 *
 * Records of several threads come in any order within a tick, but their times are right: an unmap
 * is timed before it is carried out, a map after it. So an unmap leaves alone what is younger, and
 * a map that comes late meets the unmaps that came before it.
 */
#ifndef TRACE_MAPPINGS_H
#define TRACE_MAPPINGS_H

#include "trace/mapping.h"
#include "trace/sharing.h"

#define MAPPINGS_THREADS 64 /* whose last unmap is remembered, by the low bits of their number */
#define MAPPINGS_RECENT 64

/* `bytes` of a mapping began to count, or ended. */
struct mapping_change {
    const struct mapping *mapping;
    uint64_t time_ns, bytes, milliblocks;
    bool ended;
};

struct mappings {
    void *tree; /* of disjoint mappings; see tsearch(3) */
    size_t count;
    uint64_t bytes[TRACE_MMAP_KINDS]; /* that are mapped now, by kind; closed ones apart: */
    uint64_t closed_bytes;
    uint64_t left_out; /* records above the limits of this reader */
    uint64_t records, met;
    void (*change)(void *context, const struct mapping_change *c); /* NULL: nobody asks */
    void *context;
    struct mappings_gone { /* the last unmap of a thread: it may move what it took away */
        uint64_t thread;
        bool found;
        struct mapping was;
    } gone[MAPPINGS_THREADS];
    struct mappings_cut {
        uint64_t process, thread, start, end, time_ns;
    } recent[MAPPINGS_RECENT];
    size_t recent_count;
    struct sharing objects;
};

void mappings_map(struct mappings *m, uint64_t process, uint64_t time_ns,
                  const struct trace_mmap *r);
void mappings_unmap(struct mappings *m, uint64_t process, uint64_t time_ns,
                    const struct trace_munmap *r);
/* Somebody has looked what is resident of a mapping. */
void mappings_looked(struct mappings *m, uint64_t time_ns, const struct trace_resident *r);
/* The process has ended with all that it had mapped: that is no change, but for who shared it.
 * Records from before may still come.
 */
void mappings_end(struct mappings *m, uint64_t process, uint64_t time_ns);

/* What of it counts, in bytes. */
uint64_t mapping_counted(const struct mapping *p);

/* What is mapped there; NULL: nothing that is known. */
const struct mapping *mappings_find(const struct mappings *m, uint64_t process, uint64_t address);

typedef void mappings_visit(void *context, const struct mapping *p);
void mappings_each(const struct mappings *m, mappings_visit *visit, void *context);

void mappings_free(struct mappings *m);

#endif
