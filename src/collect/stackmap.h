/* stackmap - stacks as recorded programs number them, to stacks of the trace.
 *
 * The trace's stacks are a tree of frames that all processes share: a frame in a file of code is
 * named by file and address in it, so a thousand runs of one program have one set of stacks.
 */
#ifndef COLLECT_STACKMAP_H
#define COLLECT_STACKMAP_H

#include "base/intmap.h"
#include "collect/stacktree.h"
#include "trace/store.h"

struct stackmap { /* of a trace; zeroed is empty */
    struct intmap frames, modules;
    struct intmap typed; /* programs given as text -> their numbers: see typed_name.h */
    struct stacktree tree;
    uint64_t frame_count, module_count;
    unsigned char *pending; /* the tail of a STACKS record, not yet written */
    size_t pending_used, pending_room;
    uint64_t pending_first;
};

struct stackmap_module {
    uint64_t start, length, bias, number;
};

struct stackmap_code {             /* a function in Python */
    uint64_t file, function, line; /* strings; its first line */
};

#define STACKMAP_NEAR_FIRST 256u /* there are as many as are missed, up to the most */
#define STACKMAP_NEAR_MOST 16384u

struct stackmap_near { /* a frame as the program says it, and its number in the trace */
    uint64_t frame, number;
};

struct stackmap_process { /* of one process; zeroed is empty */
    uint64_t process;
    const struct stackmap_process *parent; /* whose numbers it goes on with after a fork */
    struct stackmap_module *modules;
    size_t module_count, module_room;
    uint32_t **numbers; /* the program's stacks -> the trace's: pages, made when one is used */
    size_t number_pages;
    struct intmap code_numbers; /* its functions in Python -> place in `codes` */
    struct stackmap_code *codes;
    size_t code_count, code_room;
    struct stackmap_near *near; /* NULL: none yet */
    uint32_t near_count, near_missed;
    struct intmap seen; /* functions that were read from outside: place in `seen_codes` */
    struct stackmap_code *seen_codes;
    size_t seen_count, seen_room;
    uint32_t unloaded; /* how often modules have gone */
    uint32_t typed;    /* which text it runs; 0: none, or not known */
};

void stackmap_module(struct stackmap *m, struct stackmap_process *p, struct trace_store *s,
                     const struct stackmap_module *module, const char *path, size_t path_bytes,
                     const unsigned char *build_id, size_t id_bytes);
void stackmap_unloaded(struct stackmap_process *p);
/* Is an address in a module that was told? */
bool stackmap_is_known(const struct stackmap_process *p, uint64_t address);

/* A function of the program: text is its file's name and its own. */
void stackmap_code(struct stackmap_process *p, struct trace_store *s, uint32_t number,
                   uint64_t line, const char *text, size_t file_bytes, size_t bytes);

/* The same for a function that was read from outside, by a key that names it. */
bool stackmap_known(const struct stackmap_process *p, uint64_t key, struct stackmap_code *code);
struct stackmap_code stackmap_know(struct stackmap_process *p, struct trace_store *s, uint64_t key,
                                   uint64_t line, const char *text, size_t file_bytes,
                                   size_t bytes);

/* Frames of the trace: a line of Python; an address of the program, as in trace/ring.h; and a stack
 * of the trace.
 */
uint64_t stackmap_python(struct stackmap *m, struct trace_store *s,
                         const struct stackmap_code *code, uint64_t line);
uint64_t stackmap_native(struct stackmap *m, const struct stackmap_process *p,
                         struct trace_store *s, uint64_t frame);
uint64_t stackmap_push(struct stackmap *m, struct trace_store *s, uint64_t parent, uint64_t frame);

struct stackmap_told { /* a stack of the program, as in trace/ring.h */
    uint32_t number, from, without;
    const uint64_t *frames;
    size_t count;
};

/* Several threads may tell it. */
void stackmap_define(struct stackmap *m, struct stackmap_process *p, struct trace_store *s,
                     const struct stackmap_told *told);

uint32_t stackmap_stack(const struct stackmap_process *p, uint32_t number); /* 0: not known */

/* Write the stacks that were defined: before any event that refers to one. */
void stackmap_flush(struct stackmap *m, struct trace_store *s);

void stackmap_process_free(struct stackmap_process *p);
void stackmap_free(struct stackmap *m);

#endif
