/* findings - what deserves a look in a recording: what it is, the numbers that prove it, the line,
 * and what to do. The question `findings`, the first screen, the summary and the report page say
 * the same. Each has a limit below which nobody is bothered, and none is a guess: what is not
 * proved by the trace is not said.
 */
#ifndef QUESTIONS_FINDINGS_H
#define QUESTIONS_FINDINGS_H

#include "base/emit.h"
#include "model/leak_rows.h"
#include "model/line_sums.h"
#include "model/oom.h"
#include "page/page.h"
#include "questions/resident_rest.h"
#include "questions/table.h"

#define FINDINGS_MOST 24
#define FINDINGS_VERDICTS 64

enum finding_severity { FINDING_LOW = 1, FINDING_MEDIUM, FINDING_HIGH };

struct finding {
    const char *kind;
    enum finding_severity severity;
    const char *title;       /* a short sentence without its point */
    const char *evidence;    /* the numbers, as a sentence without its point */
    const char *what;        /* the same as one sentence, for a list; NULL: evidence */
    const char *advice;      /* a sentence */
    const char *confidence;  /* "certain", "likely", "possible" */
    const char *file, *code; /* the line that it is about, and its text; or NULL */
    uint64_t line;
    const char *function;       /* where no line is known: it, as the trace has it; or NULL */
    const char *view, *measure; /* of the page */
    const char *look_at;        /* the question that says more; or NULL */
    uint64_t from_ns, to_ns;    /* to_ns 0: all of the time */
};

/* The kernel's [heap], when it was last looked into, and the time since the tick before. What was
 * alive then, there and elsewhere, is more than what is used of it: more is free in it than held -
 * live.
 */
struct findings_held {
    bool known;
    uint64_t held, from_ns, to_ns;
};

struct findings { /* zeroed: not begun */
    struct recorded *recorded;
    struct leak_rows leaks;
    struct oom oom;
    struct findings_held held;
    struct resident_rest rest; /* when most was resident */
    uint64_t before_ns;        /* the tick before */
    struct answer *answer;
    const struct line_sums *lines;
    struct page_verdict verdicts[FINDINGS_VERDICTS];
    int verdict_count;
    struct heap_amount known;           /* leaks of libraries that are on purpose, and no finding */
    struct finding list[FINDINGS_MOST]; /* the most severe first */
    int count;
};

void findings_begin(struct findings *f, struct recorded *r); /* before the first pass, */
void findings_again(struct findings *f);                     /* and before the second */
/* Both were read. `lines` were read as well, and the answer has the sources; NULL: what lines have
 * is not said.
 */
void findings_read(struct findings *f, const struct line_sums *lines, struct answer *a);

/* The table "findings", of at most so many. */
struct table *findings_table(const struct findings *f, struct answer *a, int most);
/* The same as an array of the page; the context is the findings. */
void findings_emit(struct emit *j, void *findings);

#endif
