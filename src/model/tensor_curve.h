/* tensor_curve - the births and deaths of tensors in the order of time, what lives after each of
 * them, and what the largest of that would be if some lives were shorter, or some tensors smaller.
 */
#ifndef MODEL_TENSOR_CURVE_H
#define MODEL_TENSOR_CURVE_H

#include "model/tensors.h"

struct tensor_edge { /* a birth or a death */
    uint64_t time_ns, number;
    uint32_t tensor, place; /* tensor: its place in the list */
    bool death;
};

struct tensor_curve { /* zeroed: empty */
    struct tensor_edge *edges;
    uint64_t *live; /* bytes after each of them */
    size_t count;
    uint32_t *born, *died; /* by place in the list: which edges; died may be the count */
    uint32_t **births;     /* by place of the process - 1: the edges of its births, by number */
    uint64_t *less;        /* what is tried: bytes less from an edge on, as differences */
    uint64_t peak;         /* the largest of `live` in the stretch, */
    size_t peak_at;        /* and where it first is */
    size_t from, to;       /* edges of the stretch that is asked about */
};

/* Of tensors that were all read; from_ns .. to_ns (0: the end) is asked about. */
void tensor_curve_start(struct tensor_curve *c, const struct tensors *t, uint64_t from_ns,
                        uint64_t to_ns);
/* The edge at which the tensor of a number is born in a process; the count: there is none. */
size_t tensor_curve_birth(const struct tensor_curve *c, const struct tensors *t, uint32_t place,
                          uint32_t number);

/* The first edge that is not before an event of a process, by its time and number. It is found the
 * sooner the nearer it is to `near`, an edge or the count.
 */
size_t tensor_curve_at(const struct tensor_curve *c, uint32_t place, uint64_t time_ns,
                       uint64_t number, size_t near);

/* Try: so many bytes less from one edge to before another. */
void tensor_curve_try(struct tensor_curve *c, size_t from, size_t to, uint64_t bytes);
/* The peak with all that was tried; keep: it is so from here on, else it is forgotten. */
uint64_t tensor_curve_peak(struct tensor_curve *c, bool keep);
void tensor_curve_free(struct tensor_curve *c, const struct tensors *t);

#endif
