/* page - the data of the report page, as docs/PAGE.md describes it: what a recording knows of
 * memory and time by stack, thread, line and cell of time.
 *
 * It takes both passes over a trace: the first finds the moments (heap_edges.h), the second what
 * was born and died between them (heap_entries.h). Where the result is too large for a page, small
 * stacks are folded into their callers and then there are fewer moments: less is told apart, but no
 * sum changes.
 */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include "base/emit.h"
#include "model/line_sums.h"
#include "page/leaves.h"
#include "page/pack.h"
#include "page/series.h"

#define PAGE_BYTES_MOST 3500000u /* deflated */

struct page { /* zeroed: not begun */
    struct recorded *recorded;
    struct line_sums *lines; /* the caller's: wanted and read by it */
    struct heap_edges edges;
    struct heap_labels labels;
    struct heap_entries entries;
    struct heap_entry_log logs[MEASURES]; /* all but that of the heap */
    struct series_list series;
    struct trie trie;
    struct leaves whole, shown;    /* before and after folding */
    struct leaves_weights weights; /* of the whole; zeroed: not known yet */
    uint32_t *line_places;         /* by line of blame: its place in LINE */
    uint32_t line_count;
    uint32_t *line_list; /* lines of blame, by place in LINE */
    struct intmap pool_lines;
    struct intmap alike;   /* hash of a node and its lines -> a stack that stands for all of them */
    uint32_t thread_count; /* of META; the last may be "not known" */
    bool thread_unknown;
    bool beside; /* the caller's: of another space than a page that is there: memory alone */
    size_t most; /* the caller's: bytes that are not too many; 0: as many as a page may have */
    double folded_below;
    int parts;
    size_t raw_bytes;
};

struct page_space { /* memory of the host, or of a device */
    const char *name, *kind;
    bool shown; /* the page is of it */
    bool any;   /* something was allocated in it: then there are these */
    uint64_t peak, peak_ns, live, blocks, allocated;
    const uint64_t *high; /* the most of each of HEAP_EDGES_BINS equal bins; NULL: none */
};

/* What others say in META. */
struct page_words {
    const char *sentence, *trace, *asked, *left_out;
    void (*findings)(struct emit *j, void *context); /* one array */
    void *context;
    void (*tensors)(struct emit *j, void *context); /* an object; NULL: there are none */
    void *tensors_context;
    const struct page_verdict { /* on a line of blame */
        uint32_t line;
        const char *verdict;
        double confidence, per_second;
    } * verdicts;
    int verdict_count;
    struct heap_amount known_leaks; /* that are not told */
    const struct table_source *sources;
    size_t source_count;
    const struct page_space *spaces; /* where there is more than the host's memory */
    size_t space_count;
};

#define PAGE_READS                                                                                 \
    (LINE_SUMS_READS | RECORDED_REGIONS | RECORDED_MOMENTS | RECORDED_RUN | RECORDED_HEAP |        \
     RECORDED_COURSES)

/* Before the first pass, and before the second. */
void page_begin(struct page *p, struct recorded *r, const struct selection_finer *finer);
void page_again(struct page *p, struct line_sums *l);
/* Both were read: what only they needed is given back, before others need memory. */
void page_end(struct page *p);
/* So were the lines: the bytes. False: they could not be deflated. */
bool page_read(struct page *p, const struct page_words *w, struct bytes *out);
void page_free(struct page *p);

/* page_sections.c: all of it, deflated. */
bool page_write(struct page *p, const struct page_words *w, struct bytes *out);
/* page_meta.c and page_source.c: the sections META and SRCE. */
void page_meta(struct page *p, const struct page_words *w, struct pack *to);
/* page_people.c and page_series.c: parts of META. */
void page_people(struct emit *j, const struct page *p);
void page_series(struct emit *j, const struct page *p);
void page_spaces(struct emit *j, const struct page_words *w);
void page_source(const struct page *p, const struct page_words *w, struct pack *to);

#endif
