/* Which edge of the curve an event stands before: looked for from every edge, against a list that
 * is looked through from its beginning.
 */
#include "check.h"

#include "model/tensor_curve.h"

#define EDGES 60

static size_t wanted(const struct tensor_curve *c, uint32_t place, uint64_t time_ns,
                     uint64_t number)
{
    size_t i = 0;

    while (i < c->count && (c->edges[i].time_ns != time_ns ? c->edges[i].time_ns < time_ns
                            : c->edges[i].place != place   ? c->edges[i].place < place
                                                           : c->edges[i].number < number))
        i++;
    return i;
}

static void every_event_is_found_from_every_edge(void)
{
    struct tensor_edge edges[EDGES];
    struct tensor_curve c = {.edges = edges};
    size_t wrong = 0;

    for (size_t i = 0; i < EDGES; i++) /* three of each time, of two processes */
        edges[i] = (struct tensor_edge){
            .time_ns = 10 + i / 3 * 2, .place = 1 + (i % 3 == 2), .number = i * 2};
    for (c.count = 0; c.count <= EDGES; c.count++)
        for (uint64_t time_ns = 8; time_ns < 54; time_ns++)
            for (uint64_t number = 0; number < 2 * EDGES + 2; number += 3)
                for (size_t near = 0; near <= c.count; near++)
                    wrong += tensor_curve_at(&c, 1 + number % 2, time_ns, number, near) !=
                             wanted(&c, 1 + number % 2, time_ns, number);
    CHECK(!wrong);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"every event is found from every edge", every_event_is_found_from_every_edge},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
