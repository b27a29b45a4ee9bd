/* Records without frees that were taken back: whoever takes them sees neither event, in whichever
 * batch they are, and everything in the order of the trace.
 */
#include "check.h"

#include "model/batches.h"
#include "model/taken_back.h"

#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

static struct taken_back stage;
static char
    seen[4096]; /* what was handed on, a letter each: a 1, A its free, + its return, m a mark */
static uint64_t last_ns;

/* What was given, to be given once more: by then it is known which events never were. */
static struct given {
    struct trace_event ev;
    unsigned char *tail;
} given[64];
static size_t given_count;
static struct taken_back_found found;

static void record(const struct trace_event *ev)
{
    struct given *g = &given[given_count++];

    CHECK(given_count <= sizeof(given) / sizeof(given[0]));
    g->ev = *ev;
    g->tail = calloc(1, ev->tail_bytes + 1);
    if (ev->tail_bytes)
        memcpy(g->tail, ev->tail, ev->tail_bytes);
    g->ev.tail = g->tail;
    taken_back_record(&stage, ev, 10 * given_count);
}

static void note(char c)
{
    size_t n = strlen(seen);

    if (n + 1 < sizeof(seen))
        seen[n] = c;
}

static void take_run(void *context, const struct batches_run *run)
{
    (void)context;
    CHECK(run->time_ns >= last_ns);
    last_ns = run->time_ns;
    for (const struct batch_item *e = run->items; e < run->items + run->count; e++) {
        if (e->op == BATCH_UNFREE)
            note('+');
        note((char)((e->op == BATCH_FREE ? 'A' : 'a') + (int)e->info - 1));
        if (e->op == BATCH_FREE) {
            CHECK_EQ(batch_later_allocs(e), 3);
            CHECK_EQ(batch_lived(e), 5);
        }
    }
}

static void take(void *context, const struct trace_event *ev)
{
    (void)context;
    if (ev->kind != TRACE_BATCH)
        note(ev->kind == TRACE_MARK ? 'm' : 's');
    else if (batches_each(ev, take_run, NULL) != 1)
        note('?');
}

/* A batch of a process, by letters as they are seen; its events are a millisecond apart. */
static void give(uint64_t process, uint64_t start_ms, const char *letters)
{
    static struct batch b;
    static unsigned char tail[BATCH_TAIL_MOST];
    struct trace_event ev = {.kind = TRACE_BATCH, .tail = tail};
    uint64_t ms = start_ms;

    batch_reset(&b, start_ms * MS);
    for (; *letters; letters++, ms++) {
        batch_at(&b, (uint32_t)(1 + ms % 2), ms * MS);
        if (*letters == '+')
            batch_unfree(&b, (uint32_t)(*++letters - 'a' + 1));
        else if (*letters < 'a')
            batch_free(&b, (uint32_t)(*letters - 'A' + 1), 3 | 5 << 4);
        else
            batch_alloc(&b, (uint32_t)(*letters - 'a' + 1));
    }
    ev.time_ns = b.last_ns;
    ev.batch = (struct trace_batch){process, b.events, b.last_ns - b.start_ns};
    ev.tail_bytes = batch_close(&b, tail);
    record(&ev);
}

static void begin(void)
{
    stage = (struct taken_back){.take = take, .notes = &found};
    memset(seen, 0, sizeof(seen));
    last_ns = 0;
}

/* Again, and nothing waits. */
static void give_again(void)
{
    begin();
    stage.notes = NULL;
    stage.known = &found;
    for (size_t i = 0; i < given_count; i++) {
        taken_back_record(&stage, &given[i].ev, 10 * (i + 1));
        CHECK(!stage.first);
        free(given[i].tail);
    }
    given_count = 0;
    taken_back_end(&stage);
    taken_back_forget(&found);
}

static void expect(const char *letters)
{
    taken_back_end(&stage);
    CHECK_STR(seen, letters);
    give_again();
    CHECK_STR(seen, letters);
}

static void test_in_one_batch(void)
{
    begin();
    give(1, 10, "abAa+abB");
    expect("ababB");
    begin();
    give(1, 10, "aaAA+aA+a+a"); /* each takes the last one that still stands */
    expect("aa");
}

static void test_in_a_later_batch(void)
{
    begin();
    give(1, 10, "abA");
    give(2, 15, "A"); /* a block of the same number of another process */
    give(1, 20, "c");
    give(1, 30, "d+a");
    CHECK_STR(seen, "");
    expect("abAcd");
}

static void test_what_stands_in_order(void)
{
    struct trace_event mark = {.kind = TRACE_MARK, .time_ns = 15 * MS};
    struct trace_event sample = {.kind = TRACE_SAMPLE, .time_ns = 15 * MS};

    begin();
    record(&mark);
    CHECK_STR(seen, "m"); /* nothing waits */
    give(1, 10, "abA");
    record(&sample);
    record(&mark);
    give(1, 20, "+ab");
    CHECK_STR(seen, "m");
    expect("mabsmb");
}

static void test_only_some_are_held(void)
{
    begin();
    give(1, 1, "aA");
    for (uint64_t i = 0; i < TAKEN_BACK_HELD; i++)
        give(1, 10 + i, "b");
    CHECK_STR(seen, "aA");
    give(1, 100, "+a");
    taken_back_end(&stage);
    CHECK_EQ(strlen(seen), 2 + TAKEN_BACK_HELD + 2);
    give_again();
    CHECK_EQ(strlen(seen), 2 + TAKEN_BACK_HELD + 2);
}

static void test_nothing_is_left_of_it(void)
{
    begin();
    give(1, 10, "A");
    give(1, 20, "+a");
    expect("");
}

static void test_too_many_are_not_noted(void)
{
    begin();
    found.more = true; /* as after a quarter of a million */
    give(1, 10, "abAa+a");
    taken_back_end(&stage);
    CHECK_STR(seen, "aba");
    CHECK_EQ(found.count, 0);
    found.more = false;
    give_again();
    CHECK_STR(seen, "abAa+a"); /* which is why recorded.c does not believe such notes */
}

static void test_what_is_malformed_is_handed_on(void)
{
    /* A run of thread 1 with two events: the first takes back what is no free. */
    static const unsigned char tail[] = {3, 1, 0, 2, 2, 0, 2, 0};
    struct trace_event ev = {.kind = TRACE_BATCH, .tail = tail, .tail_bytes = sizeof(tail)};

    begin();
    give(1, 10, "aA");
    ev.batch.process = 1;
    ev.time_ns = 20 * MS;
    record(&ev);
    expect("aA?");
}

int main(void)
{
    static const struct check_test tests[] = {
        {"a free that is taken back in its batch never was", test_in_one_batch},
        {"nor was one that a later batch of its process takes back", test_in_a_later_batch},
        {"all that comes after a batch waits with it, in its order", test_what_stands_in_order},
        {"not more batches than a few are held", test_only_some_are_held},
        {"a batch of nothing else is not handed on", test_nothing_is_left_of_it},
        {"of too many nothing is noted", test_too_many_are_not_noted},
        {"what is malformed is handed on as it is", test_what_is_malformed_is_handed_on},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
