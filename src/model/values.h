/* values - what models tell and tables show that is more than a number: a frame, a stack, a series,
 * the text of a source file, who was recorded. Plain data, in somebody's arena.
 */
#ifndef MODEL_VALUES_H
#define MODEL_VALUES_H

#include <stdbool.h>
#include <stdint.h>

enum table_frame_flags {
    TABLE_FRAME_INLINED = 1,    /* into the frame after it */
    TABLE_FRAME_GUESSED = 2,    /* found without unwind data */
    TABLE_FRAME_ELIDED = 4,     /* no frame: some were left out here */
    TABLE_FRAME_CUT = 8,        /* no frame: the stack could not be followed further */
    TABLE_FRAME_PYTHON = 16,    /* a line of Python */
    TABLE_FRAME_MACHINERY = 32, /* what works for the program's own frames: see plumbing.h */
};

struct table_frame {
    const char *function, *file, *module; /* each may be NULL */
    uint64_t line;                        /* 0: not known */
    uint64_t address;                     /* in the module, else in memory */
    unsigned int flags;
};

/* The frames of those who called it may be another stack's, which others share: see
 * table_stack_whole.
 */
struct table_stack {
    int count;                        /* of all frames */
    int own;                          /* of those here; as many as `count` where it is whole */
    const struct table_frame *frames; /* the innermost first */
    const struct table_stack *outer;  /* the others; NULL: there are none */
    uint64_t bytes;                   /* about what writing all of them takes */
};

/* The largest of each of `count` equal steps from from_ns on; steps without a change are there. */
struct table_series {
    uint64_t from_ns, step_ns;
    int count;
    const uint64_t *bytes;
};

/* The text of a source file, as it was when the recording ended. */
struct table_source {
    const char *file;
    uint64_t lines;          /* the last that is known */
    const char *const *text; /* lines 1 .. lines, at 0 and on; NULL: not known */
    bool changed;            /* after the recording began */
};

#define TABLE_MISSING_MOST 16

/* Who was recorded from inside. A process counts once, whatever it runs by exec(2). */
struct table_coverage {
    uint64_t processes;
    uint64_t recorded, partly; /* wholly; with a part of it, or some of its programs, missing */
    uint64_t silent;           /* nothing kept them from being recorded, but nothing came */
    const char *how; /* "exactly", "sampled", "exactly and sampled", "CPU time alone" or in words
                        from which size on */
    struct table_missing {
        const char *reason;
        uint64_t processes; /* here what a process becomes by exec(2) counts again */
    } missing[TABLE_MISSING_MOST];
    int missing_count;
    uint64_t losses, pauses;
    uint64_t late;             /* looks at the processes that were left out for want of time */
    uint64_t whole_from;       /* every block of so many bytes and more; 0: not asked for */
    struct table_exact_since { /* the same of processes that have loaded a framework of deep
                                  learning */
        uint64_t from;         /* 0: none has */
        uint64_t time_ns, processes;
        const char *library;
    } since;
    uint64_t lost_events;      /* allocations and frees, by count */
    bool lost_parts;           /* and some that nobody has counted */
    bool at_least;             /* what was not recorded at all would be added */
    bool accounted;            /* the next two are known */
    uint64_t started, reached; /* programs, by exec or spawn; those that the library has begun in */
    const char *line;          /* all of it, in one line */
};

#endif
