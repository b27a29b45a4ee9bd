/* selection - which part of a trace is asked about, and how it is to be judged. */
#ifndef MODEL_SELECTION_H
#define MODEL_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct born;
struct process_lens;

enum selection_at {
    SELECTION_AT_DEFAULT, /* the question's own moment: the end for `leaks`, else the peak */
    SELECTION_AT_PEAK,    /* the largest live heap of the stretch that is asked about */
    SELECTION_AT_END,
    SELECTION_AT_TIME, /* at_ns */
};

enum selection_by { /* `ops`: what a row is of */
                    SELECTION_BY_OP,
                    SELECTION_BY_PHASE,
                    SELECTION_BY_MODULE,
                    SELECTION_BY_LINE,
                    SELECTION_BY_NODE,
                    SELECTION_BY_KIND,
};

#define SELECTION_TEMPORARY_MOST 15

struct selection_finer { /* to_ns 0: nothing */
    uint64_t from_ns, to_ns;
};

#define SELECTION_TYPES_MOST 16

struct selection_types { /* `what-if`: tensors of a kind in another type */
    struct selection_type {
        int kind;              /* enum tensor_kind */
        unsigned int permille; /* of their bytes */
    } list[SELECTION_TYPES_MOST];
    size_t count;
};

/* `page`: what the data is for. */
enum selection_page {
    SELECTION_PAGE_ALONE,       /* one page, of one space */
    SELECTION_PAGE_WITH_SPACES, /* the same, and data of each other space to be chosen there */
    SELECTION_PAGE_BESIDE,      /* such data: what the first has, too, is left out */
};

/* How a question is narrowed; zeroed: the whole trace and each question's own defaults. */
struct selection {
    uint64_t space;                     /* whose memory: see space_lens.h; 0: the host's */
    const struct process_lens *process; /* whose work alone is looked at; NULL: everybody's */
    uint64_t from_ns, to_ns;            /* the stretch of time; to_ns 0: to the end */
    enum selection_at at;
    uint64_t at_ns;
    bool at_peak;            /* at_ns was the peak of a stretch */
    const char *asked;       /* how it was narrowed, in sentences that the answer says; or NULL */
    const struct born *born; /* only blocks that were allocated there; NULL: all */
    bool inverted;           /* `tree`: from the allocating function to its callers */
    bool native; /* with the machinery below and around the program's own frames: see plumbing.h */
    /* A block is temporary when its thread made fewer than so many allocations between its own and
     * its free; 0: 1, that is none. At most SELECTION_TEMPORARY_MOST.
     */
    unsigned int temporary;
    struct suppress *suppress; /* `leaks`: what it leaves out and counts; NULL: nothing */
    bool all_leaks;            /* `leaks`: with those that libraries are known to have */
    bool per_step;             /* `leaks`: what grows from step to step; `decompose`: of steps */
    bool over_time;            /* `decompose`: not of one moment, but of many */
    uint64_t rows;             /* rows of a list, at most; 0: the question's own limit */
    enum selection_by by;
    uint64_t fits_in;                    /* `what-if`: bytes; 0: not asked for */
    const struct selection_types *types; /* `what-if`: besides those that suit; NULL: none */
    const struct scope_rules *scope; /* `lines` and its kin: whose files; NULL: the program's own */
    enum selection_page page;
    struct selection_finer finer; /* `page`: a stretch that is told finer than the rest; questions
                                     of one moment: what was asked about */
};

#endif
