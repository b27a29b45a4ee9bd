/* Courses of the heap: what stands out among all levels stands out among theirs. */
#include "check.h"

#include "model/heap_course.h"
#include "model/heap_segments.h"

#include <stdlib.h>

#define COURSES 200
#define EVENTS_MOST 12
#define ROUNDS 400

static uint64_t state = 1;

static uint64_t by_lot(uint64_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
}

static void tell(struct heap_segments *s, uint64_t after, uint64_t bytes)
{
    const struct heap_edge e = {.after = after, .time_ns = 1, .bytes = bytes};

    heap_segments_level(s, &e);
}

static void tell_level(struct heap_segments *s, uint64_t before, uint64_t start,
                       const struct heap_course_level *l)
{
    if (l->at)
        tell(s, before + l->at, start + l->bytes);
}

/* Blocks of few sizes, so that levels are often equal; some events do not count. */
static uint64_t go_on(uint64_t live, bool *counts)
{
    uint64_t bytes = by_lot(4);

    *counts = by_lot(5) > 0;
    if (!*counts)
        return live;
    return by_lot(2) || live < bytes ? live + bytes : live - bytes;
}

static uint64_t walk(struct heap_segments *all, struct heap_segments *few, uint64_t live,
                     uint64_t *after)
{
    struct heap_course_taker t;
    uint64_t start = live, before = *after, events = 1 + by_lot(EVENTS_MOST);
    bool counts;

    heap_course_begin(&t, 1, 0, live);
    for (uint64_t i = 0; i < events; i++) {
        live = go_on(live, &counts);
        t.now.events++;
        ++*after;
        if (!counts)
            continue;
        heap_course_level(&t, live);
        tell(all, *after, live);
    }
    tell_level(few, before, start, &t.now.before);
    tell_level(few, before, start, &t.now.low);
    tell_level(few, before, start, &t.now.after);
    return live;
}

static void check_same(const struct heap_segments *a, const struct heap_segments *b)
{
    CHECK_EQ(a->count, b->count);
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        CHECK_EQ(a->list[i].after, b->list[i].after);
        CHECK_EQ(a->list[i].bytes, b->list[i].bytes);
        CHECK_EQ(a->list[i].kind, b->list[i].kind);
    }
}

static void test_stands_out(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        struct heap_segments all = {0}, few = {0};
        uint64_t live = by_lot(20), after = 0;

        for (int i = 0; i < COURSES; i++) {
            live = walk(&all, &few, live, &after);
            if (by_lot(9) == 0) {
                heap_segments_end(&all, NULL);
                heap_segments_end(&few, NULL);
            }
        }
        heap_segments_end(&all, NULL);
        heap_segments_end(&few, NULL);
        check_same(&all, &few);
        free(all.list);
        free(few.list);
    }
}

static void test_nobody_asks(void)
{
    struct heap_course_taker t = {.rise = UINT64_MAX};

    heap_course_level(&t, 0);
    heap_course_level(&t, 1000);
    CHECK_EQ(t.now.low.at, 0);
    CHECK_EQ(t.now.after.at, 0);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"what stands out is in the courses", test_stands_out},
        {"where nobody asks, nothing is noted", test_nobody_asks},
    };

    return check_run(tests, sizeof(tests) / sizeof(*tests));
}
