/* heap_pass - what only the files heap*.c share. */
#ifndef MODEL_HEAP_PASS_H
#define MODEL_HEAP_PASS_H

#include "base/intmap.h"
#include "model/heap.h"
#include "model/heap_course.h"
#include "model/heap_grid.h"
#include "model/heap_live.h"
#include "trace/batch.h"
#include "trace/mappings.h"

/* Blocks of one size from one stack of one process. There may be millions, and each event changes
 * one, which is a line of the cache: what only some questions ask for is beside them, in
 * heap_state.
 */
struct heap_info {
    uint64_t bytes;
    uint64_t live;                     /* blocks, also those from before the stretch */
    uint64_t epoch, saved;             /* the live blocks at the peak before `epoch` */
    uint64_t allocs, frees, temporary; /* in the stretch */
    uint32_t stack;
    bool defined, python; /* python: by its own allocators */
    bool native;          /* its stack is known, and no Python is in it */
};

struct heap_times { /* of the allocations of an info in the stretch */
    uint64_t first_ns, last_ns;
};

struct heap_lives { /* of the blocks of an info that were freed in the stretch, by class */
    uint32_t of[HEAP_LIVED_CLASSES];
};

/* Places of infos that are not asked about, and of those of which that is not known. */
#define HEAP_PLACE_ELSEWHERE (UINT32_MAX - 1)
#define HEAP_PLACE_UNKNOWN UINT32_MAX

struct heap_mark { /* of an info: the live blocks at the moment of its process's mark before `epoch`
                    */
    uint64_t epoch, saved;
};

struct heap_sampled { /* sampled blocks of one class of sizes from one stack of one process */
    uint32_t process, stack;
    unsigned int size_class;
    bool whole; /* of blocks that are recorded each: exact */
    enum trace_memory memory;
    uint64_t epoch;
    struct heap_amount saved, at;
    unsigned int finalized;    /* what `worked` is of: see heap_state */
    struct heap_amount worked; /* live before its process changed it for the first time since */
    struct heap_sums sums;
    struct heap_amount python; /* the part of what was allocated by Python's own allocators */
    uint64_t least, most, first_ns, last_ns;
    uint64_t lived[HEAP_LIVED_CLASSES];
};

struct heap_within { /* the infos of a context, until they are defined */
    uint64_t first, count, context;
};

#define HEAP_TWIN_LOTS 8

struct heap_twin { /* see heap_twin.c */
    struct {
        double ahead;    /* one of the two estimates is so far above all samples, the other below */
        double most[2];  /* what each has seen at the most, with what is exact, */
        double other[2]; /* and the other one then, */
        double whole[2]; /* and what of both is exact */
    } lots[HEAP_TWIN_LOTS];
    double exact;               /* the most that was exact: the peak is no less */
    uint64_t sampled;           /* bytes that live, by all samples */
    uint64_t peak;              /* the same when the sum was largest */
    double part;                /* of these, that count */
    double spread;              /* of their variance */
    struct heap_amount largest; /* the sum then */
};

struct heap_part {           /* of a process */
    uint64_t time_ns, order; /* of the run that is open, */
    uint64_t start;          /* and what lived when it began */
    bool open, ended;        /* ended: that is among the runs */
    bool over;               /* what it became by exec(2) has begun */
    uint64_t live, events;   /* up to where the replay has come */
    uint64_t epoch, saved;   /* the events up to the peak before `epoch` */
};

struct heap_together { /* zeroed: empty */
    struct heap_together_run *runs;
    size_t count, room;
    uint64_t order; /* of the record that is read */
    uint64_t live, time_ns;
    bool began;             /* the stretch that is asked about */
    uint64_t peak, peak_ns; /* the largest of it, */
    uint64_t epoch;         /* and the how manieth that was */
};

struct heap_state {          /* of a process */
    struct heap_info *infos; /* by number, or by `places` of it; in info_memory */
    size_t info_count, info_room;
    void *info_memory;
    /* By place of the info; NULL: not asked for, or not known. */
    uint64_t *at; /* live at the moment that is asked for: heap_state_at */
    uint64_t *unreached;
    struct heap_times *times;
    struct heap_lives *lives;
    size_t unreached_room, times_room, times_count, lives_room, lives_count;
    uint32_t *places; /* by number in the trace: where in `infos`, or HEAP_PLACE_*; NULL: there */
    size_t place_count, places_room;
    struct intmap same; /* of those that have places: by what they are */
    struct heap_within *within;
    size_t within_count, within_room;
    struct heap_amount live;
    struct heap_twin twin;
    uint64_t epoch, events;
    struct heap_part part;     /* of all processes together: the run that it is in, */
    uint64_t high, high_event; /* and its highest */
    bool began;                /* the stretch */
    struct batch_item freed;   /* the last one: it may be taken back, */
    uint64_t freed_thread;     /* by who did it; */
    bool freed_in;             /* and was in the stretch */
    uint64_t *worked;          /* by number of the info: live when it had worked; NULL: not known */
    size_t worked_count;
    unsigned int
        finalized; /* how often its interpreter began to end: sampled ones note it lazily */
};

struct heap_pass {
    struct intmap processes; /* number -> 1 + place */
    struct intmap ends;      /* time << 1 | by an exec; may be before the first event */
    struct intmap was;       /* of those that others have become by exec(2): number -> that of it */
    size_t process_room;
    struct creators *creators; /* NULL: nobody asks */
    bool timed, lived;         /* asks for the times and lives of infos */
    struct heap_live live;
    struct heap_sampled *sampled;
    size_t sampled_count, sampled_room;
    struct intmap sampled_places;
    size_t infos;           /* of all processes, */
    uint64_t gaps;          /* and numbers among them that nothing has defined */
    bool fates_unknown;     /* of a sampled block */
    bool sampled_elsewhere; /* there are samples that are not asked about */
    double twin_part;       /* of all processes */
    uint64_t peak_most;     /* of all processes, in the whole recording; 0: not asked for */
    double mean, mean_most; /* of the samples' distance: the largest; a bound where none says */
    uint64_t from_ns, to_ns;
    enum heap_moment at; /* what `at` holds */
    uint64_t at_ns;
    bool at_known;
    bool bounded; /* what lives at a time is no more than the peak */
    struct heap_amount at_sum;
    uint32_t *stack_places;  /* by number, up to frames->stack_count: 1 + place in heap.stacks */
    uint32_t *spread_places; /* by place in heap.stacks: 1 + that of its spread; 0: all of it is
                              * exact, and heap */
    struct heap_stack_spread *spreads;
    size_t spread_count, spread_room, spread_places_room;
    size_t stack_room, unreached_room;
    /* By place in heap.stacks: */
    struct heap_count *python; /* NULL: nobody has asked */
    struct heap_seen *seen;    /* NULL: all is exact */
    size_t python_count, seen_room;
    struct heap_together together;
    struct born_known born; /* of contexts, where some blocks alone are asked about */
    struct heap_cut *cuts;  /* moments that the events are read again for */
    struct mappings mappings;
    struct heap_courses courses;
};

unsigned int heap_size_class(uint64_t bytes);

/* The live blocks of one info or entry at its process's peak. */
uint64_t heap_info_peak(const struct heap_state *s, const struct heap_info *i);
const struct heap_amount *heap_sampled_peak(const struct heap_state *s,
                                            const struct heap_sampled *e);

/* The place of what one stack of a process samples of a class of sizes; UINT32_MAX: too many. */
uint32_t heap_sampled_place(struct heap *h, uint32_t process, const struct trace_event *ev);
/* The place of an entry of the same process, stack, class, kind and wholeness as one that has no
 * more. */
uint32_t heap_entry_place(struct heap *h, const struct heap_sampled *like);
/* Before what lives of an entry changes. */
void heap_entry_touch(const struct heap_state *s, struct heap_sampled *e);
/* Every block of its size was recorded: it stands for itself, and says nothing of the others. */
bool heap_is_whole(const struct trace_event *ev);
/* A sampled block: its estimate. */
struct heap_amount heap_weigh(const struct trace_event *ev);
uint32_t heap_place_of(const struct heap *h, const struct heap_process *p); /* 1 + its place */

/* heap.c: by number. Made on first sight; NULL: it is not there, or there are too many. */
struct heap_process *heap_make_process(struct heap *h, uint64_t number);
/* To add to. */
struct heap_sums *heap_sums_of_thread(struct heap *h, const struct threads_thread *t);

/* heap_step.c. The stretch that is asked about begins: what lives is its first peak. */
void heap_begin_stretch(struct heap_process *p, uint64_t time_ns);
/* Its events from now on have this time; false: they are after the stretch. *in: they are in it. */
bool heap_move_to(struct heap *h, struct heap_process *p, uint64_t time_ns, bool *in);
/* Its live heap grew. */
void heap_rose(struct heap_process *p, uint64_t time_ns, bool in);

/* heap_together.c. The events of a process from here on are of this time; its live heap is known up
 * to here. */
void heap_together_move(struct heap *h, struct heap_process *p, uint64_t time_ns);

/* All was read, and it is known when processes ended. */
void heap_together_end(struct heap *h);
void heap_together_free(struct heap_together *t);

/* How many events of a process come before the peak; 0 where it had ended. */
uint64_t heap_together_events(const struct heap *h, const struct heap_process *p);

/* heap_infos.c: one record each. */
void heap_take_infos(struct heap *h, const struct trace_event *ev);
void heap_take_context(struct heap *h, const struct trace_event *ev);
void heap_take_info_context(struct heap *h, const struct trace_event *ev);
/* So many are there, from 0 on: new ones are zeroed. */
void heap_infos_fit(struct heap_state *s, size_t count);
void heap_infos_free(struct heap_state *s);
/* Times and lives of all infos that are defined by now. */
void heap_times_fit(struct heap_state *s);
void heap_lives_fit(struct heap_state *s);
/* Is a block of that context and process asked about? */
enum born_answer heap_born(const struct heap *h, uint64_t context, uint64_t process);

/* Where in `infos` the one of that number is; 0: it was not defined. */
static inline uint32_t heap_info_place(const struct heap_state *s, uint64_t number)
{
    if (s->places)
        return number <= s->place_count ? s->places[number] : 0;
    return number && number <= s->info_count && s->infos[number].defined ? (uint32_t)number : 0;
}

/* The same; 0 also where it is none of those that are asked about. */
static inline uint32_t heap_info_known(const struct heap_state *s, uint64_t number)
{
    uint32_t place = heap_info_place(s, number);

    return place < HEAP_PLACE_ELSEWHERE ? place : 0;
}

/* It is asked for so many events later: it comes from far away, and there are millions of them. */
#define HEAP_AHEAD 12
static inline void heap_info_soon(const struct heap_state *s, uint64_t number)
{
    if (s->places || !number || number > s->info_count)
        return;
    __builtin_prefetch(&s->infos[number], 1);
}

/* heap_batch.c and heap_sample.c: one record each. */
void heap_take_batch(struct heap *h, const struct trace_event *ev);
void heap_take_sample(struct heap *h, const struct trace_event *ev);
void heap_take_sample_free(struct heap *h, const struct trace_event *ev);
/* heap_mapped.c: MMAP records and their kin; others are left alone. */
void heap_take_mapping(struct heap *h, const struct trace_event *ev);
uint32_t heap_mapped_place(struct heap *h, uint32_t process, const struct mapping *p);
/* heap_counts.c: how far apart are samples, by the weight of this one? */
void heap_note_mean(struct heap_pass *s, const struct heap_amount *a, uint64_t bytes);

/* heap_twin.c: which half of the samples an ALLOC is of, by each lot, a bit; what lives of each;
 * and, in the stretch that is asked about, when the live heap rose.
 */
uint8_t heap_twin_lots(const struct trace_event *ev);
void heap_twin_add(struct heap_twin *t, uint8_t lots, const struct heap_amount *a);
void heap_twin_subtract(struct heap_twin *t, uint8_t lots, const struct heap_amount *a);
void heap_twin_begin(struct heap_state *s);
void heap_twin_rose(struct heap_state *s);
/* All was read: the peaks of processes as they are. And `at` of all entries, which is that of a
 * peak.
 */
void heap_twin_end(struct heap *h);
bool heap_twin_bound(
    struct heap *h); /* the run is known as well; true: that has changed something */
void heap_twin_at_peak(struct heap *h);
/* The peaks of a stretch are no higher than those of the whole recording; true: that has changed
 * something. */
bool heap_twin_within(struct heap *h, const struct heap *whole);
/* The peak of all processes: no less than that of any of them; and what is sampled of `at` changed
 * so far that its sum is `to`, where it was `from`.
 */
uint64_t heap_twin_least(const struct heap *h);
void heap_twin_move(struct heap *h, uint64_t from, uint64_t to);

/* heap_at.c: `at` of the infos of a process, to fill. */
uint64_t *heap_state_at(struct heap_state *s);

/* heap_fold.c: from infos and entries to stacks, sizes and processes. */
void heap_fold(struct heap *h);
/* Afterwards: 1 + the place of a stack in heap.stacks; 0: it has none. */
static inline uint32_t heap_stack_place(const struct heap *h, uint64_t stack)
{
    return stack <= h->frames->stack_count ? h->pass->stack_places[stack] : 0;
}

/* So many whole blocks of one size. */
static inline struct heap_amount heap_whole_blocks(uint64_t count, uint64_t bytes)
{
    return (struct heap_amount){count * bytes, count * 1000, 0, 0};
}

static inline void heap_count_add(struct heap_count *to, const struct heap_amount *from)
{
    to->bytes += from->bytes;
    to->milliblocks += from->milliblocks;
}

/* Was it ever of interest? */
static inline bool heap_info_is_used(const struct heap_info *i)
{
    return i->defined && (i->epoch || i->live);
}

/* More was seen. */
static inline void heap_seen_add(struct heap_seen *to, const struct heap_seen *from)
{
    if (!from->any)
        return;
    to->least = to->any && to->least < from->least ? to->least : from->least;
    to->first_ns = to->any && to->first_ns < from->first_ns ? to->first_ns : from->first_ns;
    to->most = from->most > to->most ? from->most : to->most;
    to->last_ns = from->last_ns > to->last_ns ? from->last_ns : to->last_ns;
    to->any = true;
}
/* `at` alone. */
struct heap_amount heap_fold_at(struct heap *h);

/* heap_lives.c: what became of the blocks of each info and entry. */
typedef void heap_take_life(void *context, uint64_t stack, const struct heap_life *l);
void heap_each_life(const struct heap *h, heap_take_life *take, void *context);
void heap_life_add(struct heap_life *to, const struct heap_life *from);

/* heap_worked.c: one record each. */
void heap_take_mark(struct heap *h, const struct trace_event *ev);
void heap_take_end(struct heap *h, const struct trace_event *ev);
void heap_take_process(struct heap *h, const struct trace_event *ev);
/* What a process was before exec(2), and had a heap: that ended when this one began, which may be
 * noticed much later. NULL: nothing.
 */
struct heap_process *heap_former(const struct heap *h, const struct heap_process *p);
void heap_take_unreached(struct heap *h, const struct trace_event *ev); /* heap_reach.c */
/* All was read: when did it end, and its heap with it? */
void heap_set_end(const struct heap *h, struct heap_process *p);
/* Before a sampled entry of a process changes. */
void heap_worked_note(const struct heap_state *s, struct heap_sampled *e);
/* `at` of all infos and entries: HEAP_AT_WORKED. */
void heap_worked_at(struct heap *h);

/* heap_cut.c: the state up to some event or time of each process, from the events again. */
struct heap_cut *heap_cut_add(struct heap *h, enum heap_moment moment, uint64_t time_ns);
struct heap_cut *heap_cut_find(const struct heap *h, enum heap_moment moment, uint64_t time_ns);
void heap_cut_at(const struct heap_cut *c); /* `at` of all infos and entries */
void heap_cuts_free(struct heap *h);

#endif
