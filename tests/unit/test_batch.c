/* The tails of BATCH, STACKS and INFOS: what goes in comes out; what is malformed is refused. */
#include "trace/batch.h"

#include "check.h"

#include <stdlib.h>

static struct batch b;
static unsigned char tail[BATCH_TAIL_MOST];
static struct batch_event wanted[BATCH_EVENTS_MOST];

static uint64_t state = 88172645463325252u;

static uint64_t chance(void) /* xorshift: every run has the same batches */
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint32_t any_info(void)
{
    return (uint32_t)(chance() >> (33 + chance() % 31));
}

static struct batch_event put_any(uint32_t thread, uint64_t time_ns)
{
    struct batch_event e = {.time_ns = time_ns, .thread = thread, .info = any_info()};
    unsigned char fate = (unsigned char)chance();

    if (chance() % 2 && e.info) {
        e.op = BATCH_ALLOC;
        batch_alloc(&b, (uint32_t)e.info);
    } else if (chance() % 8 == 0) {
        e.op = BATCH_UNFREE;
        batch_unfree(&b, (uint32_t)e.info);
    } else {
        e.op = BATCH_FREE;
        e.later_allocs = fate & 15;
        e.lived = fate >> 4;
        batch_free(&b, (uint32_t)e.info, fate);
    }
    return e;
}

static bool same(const struct batch_event *a, const struct batch_event *c)
{
    return a->time_ns == c->time_ns && a->thread == c->thread && a->info == c->info &&
           a->op == c->op && a->later_allocs == c->later_allocs && a->lived == c->lived;
}

static bool is_item(const struct batch_event *e, const struct batch_reader *r,
                    const struct batch_item *i)
{
    uint64_t info = e->info < BATCH_INFO_BEYOND ? e->info : BATCH_INFO_BEYOND;

    return e->time_ns == r->time_ns && e->thread == r->thread && info == i->info &&
           e->op == i->op && e->later_allocs == batch_later_allocs(i) && e->lived == batch_lived(i);
}

/* Taken run by run they are the same, and as many; it ends in the same way. */
static void take_runs(struct batch_reader r)
{
    static struct batch_item items[100];
    struct batch_reader taken = r;
    struct batch_event e;
    size_t count;

    while ((count = batch_take(&taken, items, 1 + chance() % 100)))
        for (size_t i = 0; i < count; i++)
            if (!CHECK_EQ(batch_next(&r, &e), 1) || !CHECK(is_item(&e, &taken, &items[i])))
                return;
    CHECK(batch_next(&r, &e) <= 0);
    CHECK_EQ(taken.malformed, r.malformed);
    CHECK_EQ(batch_take(&taken, items, 100), 0);
}

/* One batch with up to `most` events in runs of about `run`. */
static void round_trip(uint32_t most, uint32_t run)
{
    uint64_t start = chance() >> 20, time_ns = start;
    struct batch_reader r;
    struct batch_event got = {0};
    uint32_t count = 0, thread = 1;
    size_t size;

    batch_reset(&b, start);
    batch_at(&b, thread, time_ns);
    while (count < most && !batch_full(&b)) {
        if (chance() % run == 0) {
            thread = (uint32_t)(chance() >> (32 + chance() % 32)) | 1;
            time_ns = start + chance() % TRACE_BATCH_SPAN_MOST;
            batch_at(&b, thread, time_ns);
        }
        wanted[count++] = put_any(thread, time_ns);
    }
    CHECK_EQ(b.events, count);
    size = batch_close(&b, tail);
    if (!CHECK(size <= BATCH_TAIL_MOST) ||
        !CHECK_EQ(batch_open(&r, tail, size, b.last_ns, b.last_ns - b.start_ns), 0))
        return;
    take_runs(r);
    for (uint32_t i = 0; i < count; i++)
        if (!CHECK_EQ(batch_next(&r, &got), 1) || !CHECK(same(&got, &wanted[i])))
            return;
    CHECK_EQ(batch_next(&r, &got), 0);
    CHECK_EQ(batch_next(&r, &got), 0);
}

static void random_batches(void)
{
    for (int i = 0; i < 300; i++)
        round_trip((uint32_t)(chance() % 200), (uint32_t)(chance() % 20 + 1));
    round_trip(BATCH_EVENTS_MOST, 1000);
    round_trip(BATCH_EVENTS_MOST, 1); /* a run for each event: full by runs */
    CHECK(b.run_count >= BATCH_RUNS_MOST - 2 && b.run_count < BATCH_RUNS_MOST);
}

/* The largest of everything still fits. */
static void the_limits(void)
{
    struct batch_event e;
    struct batch_reader r;
    uint32_t count = 0;
    size_t size;
    int got;

    batch_reset(&b, 0);
    batch_at(&b, UINT32_MAX, UINT64_MAX / 2);
    while (!batch_full(&b)) {
        if (b.run_count < BATCH_RUNS_MOST - 3)
            batch_at(&b, UINT32_MAX - b.run_count,
                     UINT64_MAX / 2 - (b.run_count % 2 ? 1u << 31 : 0));
        batch_unfree(&b, INT32_MAX);
    }
    CHECK(b.events >= BATCH_EVENTS_MOST - 4);
    CHECK(b.runs_used <= sizeof(b.runs) && b.symbols_used <= sizeof(b.symbols) &&
          b.fates_used <= sizeof(b.fates));
    size = batch_close(&b, tail);
    CHECK(size <= sizeof(tail));
    CHECK_EQ(batch_open(&r, tail, size, b.last_ns, b.last_ns), 0);
    while ((got = batch_next(&r, &e)) > 0)
        count += e.info == INT32_MAX && e.op == BATCH_UNFREE;
    CHECK_EQ(got, 0);
    CHECK_EQ(count, b.events);
}

static void an_empty_batch(void)
{
    struct batch_reader r;
    struct batch_event e;

    batch_reset(&b, 5);
    CHECK_EQ(batch_close(&b, tail), 3);
    CHECK_EQ(batch_open(&r, tail, 3, 5, 0), 0);
    CHECK_EQ(batch_next(&r, &e), 0);
}

static void fates(void)
{
    CHECK_EQ(batch_fate(true, 0, 0), 0x00);
    CHECK_EQ(batch_fate(true, 14, 65535), 0x0e);
    CHECK_EQ(batch_fate(true, 15, 65536), 0x1f);
    CHECK_EQ(batch_fate(false, 0, 65536 * 2 - 1), 0x1f);
    CHECK_EQ(batch_fate(true, 0, 65536 * 2), 0x20);
    CHECK_EQ(batch_fate(true, 0, (65536ull << 14) - 1), 0xe0);
    CHECK_EQ(batch_fate(true, 0, 65536ull << 14), 0xf0);
    CHECK_EQ(batch_fate(true, UINT32_MAX, UINT64_MAX), 0xff);
}

/* How many events a tail gives, and how it ends. */
static int read_tail(const char *bytes, size_t size, int *events)
{
    struct batch_reader r;
    struct batch_event e;
    int got = batch_open(&r, (const unsigned char *)bytes, size, 100, 0);

    if (got >= 0)
        take_runs(r);
    for (*events = 0; got >= 0 && (got = batch_next(&r, &e)) > 0;)
        ++*events;
    return got;
}

#define REFUSED(bytes, before)                                                                     \
    do {                                                                                           \
        int events_;                                                                               \
        CHECK_EQ(read_tail(bytes, sizeof(bytes) - 1, &events_), -1);                               \
        CHECK_EQ(events_, before);                                                                 \
    } while (0)

/* The fault stays, even where what follows would be an event. */
static void asked_again(void)
{
    static const unsigned char bytes[] = "\x03\x01\x00\x02\x02\x03\x02\x00";
    struct batch_reader r;
    struct batch_event e;

    CHECK_EQ(batch_open(&r, bytes, sizeof(bytes) - 1, 100, 0), 0);
    take_runs(r);
    CHECK_EQ(batch_next(&r, &e), -1);
    CHECK_EQ(batch_next(&r, &e), -1);
}

static void malformed_batches(void)
{
    int events;

    CHECK_EQ(read_tail("\x03\x01\x00\x01\x01\x02\x00", 7, &events), 0); /* a good one first */
    CHECK_EQ(events, 1);
    REFUSED("", 0);
    REFUSED("\x03\x01\x00\x01\x01\x02", 0);                 /* no third column */
    REFUSED("\x80", 0);                                     /* a cut size */
    REFUSED("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 0); /* a huge column */
    REFUSED("\x02\x01\x00\x00\x00", 0);                     /* a cut run */
    REFUSED("\x03\x01\x00\x02\x01\x02\x00", 1);             /* a symbol lacks */
    REFUSED("\x03\x01\x00\x01\x02\x02\x02\x00", 1);         /* one too many */
    REFUSED("\x03\x01\x00\x01\x01\x03\x00", 0);             /* a fate lacks */
    REFUSED("\x03\x01\x00\x01\x01\x03\x02\x00\x00", 1);     /* one too many */
    REFUSED("\x03\x01\x00\x01\x01\x00\x01\x00", 0);         /* nothing to take back */
    REFUSED("\x03\x01\x00\x01\x02\x00\x02\x01\x00", 0);     /* no free */
    REFUSED("\x03\x01\x00\x01\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x00", 0); /* 65 bits */
}

/* Every byte of a good tail changed to every value, and every cut of it: bounded, no crash. */
static void damaged_batches(void)
{
    static unsigned char damaged[4096];
    size_t size;
    int events;

    batch_reset(&b, 7);
    batch_at(&b, 1, 7);
    for (int i = 0; i < 40; i++)
        put_any(1, 7);
    size = batch_close(&b, tail);
    for (size_t at = 0; at < size; at++)
        for (int value = 0; value < 256; value++) {
            memcpy(damaged, tail, size);
            damaged[at] = (unsigned char)value;
            read_tail((const char *)damaged, size, &events);
            CHECK(events <= (int)size);
        }
    for (size_t cut = 0; cut < size; cut++) {
        unsigned char *exact = malloc(cut + 1); /* a sanitizer sees what is read beyond it */

        if (!exact)
            return;
        memcpy(exact, tail, cut);
        CHECK_EQ(read_tail((const char *)exact, cut, &events), -1);
        free(exact);
    }
}

static void stacks_and_infos(void)
{
    static struct trace_stack stacks[500];
    static struct batch_info infos[500];
    const unsigned char *at = tail;
    struct batch_info info = {.info = 99};
    struct trace_stack stack;
    uint64_t next = 1;
    size_t used = 0, size;

    for (uint64_t i = 0; i < 500; i++) {
        stacks[i] = (struct trace_stack){i + 1, chance() % (i + 1), chance()};
        used += batch_put_stack(tail + used, i + 1, stacks[i].parent, stacks[i].frame);
    }
    size = used;
    for (int i = 0; i < 500; i++)
        if (!CHECK(batch_next_stack(&at, &size, &next, &stack)) ||
            !CHECK(memcmp(&stack, &stacks[i], sizeof(stack)) == 0))
            return;
    CHECK(!batch_next_stack(&at, &size, &next, &stack) && size == 0);
    used = 0;
    for (uint64_t i = 0; i < 500; i++) {
        infos[i] = (struct batch_info){100 + i, chance(), chance(), chance() % 5};
        used += batch_put_info(tail + used, infos[i].bytes, infos[i].stack, infos[i].origin,
                               i ? infos[i - 1].stack : 0);
    }
    at = tail;
    size = used;
    for (int i = 0; i < 500; i++)
        if (!CHECK(batch_next_info(&at, &size, &info)) ||
            !CHECK(memcmp(&info, &infos[i], sizeof(info)) == 0))
            return;
    CHECK(!batch_next_info(&at, &size, &info) && size == 0);
}

/* Refused, and what was not taken is left as it was, however often it is asked for. */
static void malformed_definitions(void)
{
    const unsigned char *at = (const unsigned char *)"\x04\x01";
    struct batch_info info = {.info = 6, .bytes = 5};
    struct trace_stack stack;
    uint64_t next = 4;
    size_t size = 2;

    CHECK(!batch_next_stack(&at, &size, &next, &stack) && size == 2 && next == 4);
    at = (const unsigned char *)"\x00";
    size = 1;
    CHECK(!batch_next_stack(&at, &size, &next, &stack) && size == 1);
    CHECK(!batch_next_stack(&at, &size, &next, &stack) && size == 1);
    at = (const unsigned char *)"\x40\x02";
    size = 2;
    CHECK(!batch_next_info(&at, &size, &info) && size == 2 && info.info == 6 && info.bytes == 5);
    CHECK(!batch_next_info(&at, &size, &info) && size == 2);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"random batches come out as they went in", random_batches},
        {"the largest numbers fit", the_limits},
        {"an empty batch", an_empty_batch},
        {"the fate of a block", fates},
        {"malformed batches are refused, what stands before is given", malformed_batches},
        {"a malformed batch stays malformed", asked_again},
        {"a damaged batch does no harm", damaged_batches},
        {"stacks and infos come out as they went in", stacks_and_infos},
        {"malformed stacks and infos are refused", malformed_definitions},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
