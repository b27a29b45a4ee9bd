/* tensors - the blocks of a recording that are the memory of tensors, each with its life, in the
 * order in which they were born. How long one lives is told by births as well: `until` is the
 * number of those of its process that had been born when it died, which does not depend on how fast
 * anything ran.
 *
 * Of a recording with addresses every life is known. In an exact one, blocks of one size from one
 * stack are told apart by their age, as far as that was kept.
 */
#ifndef MODEL_TENSORS_H
#define MODEL_TENSORS_H

#include "model/heap_replay.h"
#include "model/op_stacks.h"

#define TENSOR_NEVER UINT32_MAX

enum tensor_kind { /* see tensor_kinds.h */
                   TENSOR_UNKNOWN,
                   TENSOR_PARAMETER,
                   TENSOR_GRADIENT,
                   TENSOR_OPTIMIZER,
                   TENSOR_ACTIVATION,
                   TENSOR_INPUT,
                   TENSOR_BUFFER,
                   TENSOR_CACHE,
                   TENSOR_TEMPORARY,
                   TENSOR_KINDS
};

struct tensor {
    const struct op_stack *from;
    uint64_t bytes;            /* by its sample, if it is one: an estimate */
    uint64_t born_ns, died_ns; /* in the order of its process; died_ns UINT64_MAX: it did not */
    uint64_t from_ns, to_ns;   /* the same as each thread says it, which heap_at counts by */
    uint64_t born_no, died_no; /* the same by number of the event in its process */
    uint64_t address;          /* 0: not known */
    bool sample;               /* it stands for several */
    uint32_t stack, place;     /* place: 1 + that of its process in heap.processes */
    uint32_t number, until;    /* of its process, from 0; TENSOR_NEVER: never, or it is no tensor */
    uint32_t left, needed;     /* births, by number: see tensor_kinds.h */
    uint32_t next;             /* 1 + place in the list: of those that cannot be told apart */
    enum tensor_kind kind;
    enum tensor_kind told; /* by the program: see tensor_told.h; TENSOR_UNKNOWN: it was not */
    bool kept;             /* by the graph, it has told */
    const char *name;      /* that it has told: which one it is; NULL: none */
    const char *words;     /* the same of what is no kind */
    uint64_t context;      /* that it was allocated in */
};

/* One of the list was born, or has died. */
typedef void tensors_told(void *context, uint32_t at, bool died);

struct tensors { /* zeroed: empty */
    struct heap *heap;
    struct op_stacks *stacks;
    struct tensor *list; /* of all processes, in the order of the trace */
    size_t count, room;
    uint32_t *born;     /* by place - 1: how many of each process */
    uint64_t *clock;    /* by place - 1: times of one process do not go back */
    struct intmap live; /* what cannot be told apart -> 1 + place of the one that was born last */
    struct intmap at;   /* process and address -> 1 + place of the one that was born there last */
    uint64_t last_key;  /* of the one that died last, which may be taken back, */
    uint32_t last;      /* and 1 + its place */
    uint64_t left_out;  /* above the limit of this reader */
    bool all;           /* blocks that are no tensors are in the list as well, without a number */
    bool shadows;       /* blocks of outside of the windows as well: they may be described */
    tensors_told *told; /* NULL: nobody follows */
    void *context;
};

/* The heap takes its events again, by h->replay. */
void tensors_want(struct tensors *t, struct heap *h, struct op_stacks *s);
/* The one that lives at an address, or one of an info of the trace; NULL: none does. */
struct tensor *tensors_at(const struct tensors *t, uint32_t place, uint64_t address);
struct tensor *tensors_of_info(const struct tensors *t, uint32_t place, uint64_t info);
/* The time of a process is at least this; what it is then. */
uint64_t tensors_now(struct tensors *t, uint32_t place, uint64_t time_ns);
/* The tensors of each process, by its place in heap.processes, in the order of their births: `born`
 * says how many they are. In the arena.
 */
struct tensor ***tensors_by_process(const struct tensors *t, struct arena *a);

/* Does it live at a moment of the heap, as heap_at counts? */
struct tensors_moment {
    const struct heap *heap;
    enum heap_moment moment;
    uint64_t time_ns;
};
bool tensors_alive(const struct tensors_moment *m, const struct tensor *t);
void tensors_free(struct tensors *t);

const char *tensor_kind_text(enum tensor_kind kind);

#endif
