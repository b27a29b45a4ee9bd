/* test_trace - what is written can be read: every kind, every edge of a number, every stretch. */
#include "check.h"

#include <unistd.h>

#include "trace_help.h"

static const uint64_t edges[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, 1ull << 63, UINT64_MAX};
#define EDGES (sizeof(edges) / sizeof(*edges))

static struct bytes written; /* by the store of the last finish() */

static struct trace_store *start(void)
{
    struct err err;
    struct trace_store *s = trace_store_create(temporary("test.tide"), &err);

    if (!s)
        abort();
    return s;
}

static struct trace *finish(struct trace_store *s)
{
    struct err err;
    struct trace *t;

    CHECK(trace_store_close(s, &err) == 0);
    written = bytes_of_file(temporary("test.tide"));
    t = trace_open(temporary("test.tide"), &err);
    remove(temporary("test.tide"));
    if (!t)
        abort();
    return t;
}

/* The next record of a kind. */
static bool find(struct trace *t, enum trace_kind kind, struct trace_event *ev)
{
    while (trace_next(t, ev))
        if (ev->kind == kind)
            return true;
    return false;
}

static uint64_t field_value(uint64_t kind, unsigned int field)
{
    return (kind * 1000 + field) << (field * 7);
}

static void put_kind(struct trace_store *s, enum trace_kind kind, const struct trace_shape *shape)
{
    const struct trace_pair pairs[] = {{1, UINT64_MAX}, {UINT64_MAX, 0}};
    uint64_t fields[TRACE_FIELDS_MOST];

    for (unsigned int i = 0; i < shape->fields; i++)
        fields[i] = field_value(kind, i);
    if (shape->tail == TRACE_TAIL_PAIRS)
        trace_store_put(s, kind, kind * 10u, fields, shape->fields, pairs, 2);
    else
        trace_store_put(s, kind, kind * 10u, fields, shape->fields, "\0tail", 5);
}

static void check_kind(struct trace *t, enum trace_kind kind, const struct trace_shape *shape)
{
    struct trace_pair pair;
    struct trace_event ev;

    trace_rewind(t, 0, UINT64_MAX);
    if (!CHECK(find(t, kind, &ev)))
        return;
    CHECK_EQ(ev.time_ns, shape->timed ? kind * 10u : 0);
    CHECK_EQ(ev.present, shape->fields);
    for (unsigned int i = 0; i < TRACE_FIELDS_MOST; i++)
        CHECK_EQ(ev.fields[i], i < shape->fields ? field_value(kind, i) : 0);
    if (shape->tail == TRACE_TAIL_BYTES) {
        CHECK(ev.tail_bytes == 5 && memcmp(ev.tail, "\0tail", 5) == 0);
        CHECK(!trace_next_pair(&ev, &pair));
    } else if (shape->tail == TRACE_TAIL_PAIRS) {
        CHECK(trace_next_pair(&ev, &pair) && pair.metric == 1 && pair.value == UINT64_MAX);
        CHECK(trace_next_pair(&ev, &pair) && pair.metric == UINT64_MAX && pair.value == 0);
        CHECK(!trace_next_pair(&ev, &pair));
    } else {
        CHECK_EQ(ev.tail_bytes, 0);
    }
}

static void every_kind(void)
{
    struct trace_store *s = start();
    struct trace *t;
    unsigned int kinds = 0;

    for (unsigned int kind = 0; kind < 200; kind++)
        if (trace_shape_of(kind) && kind != TRACE_END)
            put_kind(s, kind, trace_shape_of(kind));
    t = finish(s);
    for (unsigned int kind = 0; kind < 200; kind++)
        if (trace_shape_of(kind) && kind != TRACE_END && ++kinds)
            check_kind(t, kind, trace_shape_of(kind));
#define X(name, number, timed, fields, tail) +1
    CHECK_EQ(kinds, 0 TRACE_KINDS(X) - 1);
#undef X
    CHECK_STR(trace_shape_of(TRACE_SAMPLE)->name, "SAMPLE");
    CHECK(!trace_shape_of(0) && !trace_shape_of(UINT64_MAX));
    trace_close(t);
}

static void numbers_at_their_edges(void)
{
    struct trace_store *s = start();
    struct trace_event ev;
    struct trace *t;

    for (size_t i = 0; i < EDGES; i++)
        trace_store_put(s, TRACE_MARK, i, HELP_FIELDS(edges[i], i, edges[EDGES - 1 - i], 0), NULL,
                        0);
    t = finish(s);
    for (size_t i = 0; i < EDGES; i++) {
        CHECK(trace_next(t, &ev) == 1 && ev.kind == TRACE_MARK);
        CHECK_EQ(ev.mark.thread, edges[i]);
        CHECK_EQ(ev.mark.mark_kind, i);
        CHECK_EQ(ev.mark.name, edges[EDGES - 1 - i]);
    }
    trace_close(t);
}

static void time_goes_anywhere(void)
{
    struct trace_store *s = start();
    struct trace_event ev;
    struct trace_chunk c;
    struct trace *t;

    for (size_t i = 0; i < EDGES * EDGES; i++) /* every difference between two edges */
        trace_store_put(s, TRACE_MARK, edges[i % 2 ? i / EDGES : i % EDGES], NULL, 0, NULL, 0);
    t = finish(s);
    for (size_t i = 0; i < EDGES * EDGES; i++) {
        CHECK(trace_next(t, &ev) == 1);
        CHECK_EQ(ev.time_ns, edges[i % 2 ? i / EDGES : i % EDGES]);
    }
    memcpy(&c, written.data + chunk_offset(written, 0), sizeof(c));
    CHECK_EQ(c.first_ns, 0);
    CHECK_EQ(c.last_ns, UINT64_MAX);
    trace_close(t);
}

static void absent_fields(void)
{
    const uint64_t fields[] = {1, 2, 3, 4, 5, 6, 7};
    struct trace_store *s = start();
    struct trace_event ev;
    struct trace *t;

    for (size_t count = 0; count <= 7; count++)
        trace_store_put(s, TRACE_ALLOC, 1, fields, count, NULL, 0);
    trace_store_put(s, TRACE_LOSS, 1, fields, 1, "why", 3);
    t = finish(s);
    for (unsigned int count = 0; count <= 7; count++) {
        CHECK(trace_next(t, &ev) == 1 && ev.kind == TRACE_ALLOC);
        CHECK_EQ(ev.present, count < 7 ? count : 7);
        CHECK_EQ(ev.alloc.weight, count < 6 ? 0 : 6);
    }
    CHECK(trace_next(t, &ev) == 1 && ev.present == 4 && ev.loss.process == 1 && ev.loss.bytes == 0);
    CHECK(ev.tail_bytes == 3 && memcmp(ev.tail, "why", 3) == 0);
    trace_close(t);
}

static void a_full_buffer_is_left_alone(void)
{
    const struct trace_pair pairs[] = {{METRIC_RSS, 1ull << 40}, {METRIC_CPU_NS, 300}};
    const uint64_t fields[] = {TRACE_OF_PROCESS, 1};
    unsigned char data[64];
    struct trace_buffer b = {.data = data, .room = sizeof(data)};
    size_t needed;

    CHECK(trace_put(&b, TRACE_SAMPLE, 1000000, fields, 2, pairs, 2) == 0);
    needed = b.used;
    CHECK_EQ(needed, 2 + 3 + 2 + (1 + 6) + (1 + 2));
    for (size_t room = 0; room < sizeof(data); room++) {
        memset(data, 0xee, sizeof(data));
        b.room = room;
        trace_buffer_reset(&b);
        CHECK_EQ(trace_put(&b, TRACE_SAMPLE, 1000000, fields, 2, pairs, 2), room < needed ? -1 : 0);
        CHECK_EQ(b.records, room < needed ? 0 : 1);
        CHECK_EQ(data[room], 0xee);
    }
    CHECK(trace_put(&b, (enum trace_kind)99, 0, NULL, 0, NULL, 0) == -1);
    CHECK(trace_put(&b, TRACE_STRING, 0, fields, 1, data, SIZE_MAX) == -1);
}

static void strings_are_numbered(void)
{
    struct trace_store *s = start();
    struct trace_event ev;
    struct trace *t;
    char text[16];
    bool same = true;

    CHECK_EQ(trace_store_string(s, NULL, 0), 0);
    CHECK_EQ(trace_store_string(s, "", 0), 1);
    CHECK_EQ(trace_store_string(s, "a\0b", 3), 2);
    CHECK_EQ(trace_store_string(s, "a\0c", 3), 3);
    for (int round = 0; round < 2; round++)
        for (unsigned int i = 0; i < 10000; i++) {
            int len = snprintf(text, sizeof(text), "text %u", i);

            same &= trace_store_string(s, text, (size_t)len) == i + 4;
        }
    CHECK(same);
    t = finish(s);
    for (uint64_t i = 1; i <= 10003; i++)
        same &= trace_next(t, &ev) == 1 && ev.kind == TRACE_STRING && ev.string.string == i;
    CHECK(same);
    CHECK(ev.tail_bytes == 9 && memcmp(ev.tail, "text 9999", 9) == 0);
    CHECK(trace_next(t, &ev) == 1 && ev.kind == TRACE_END);
    trace_close(t);
}

/* Chunks are cut at about 256 KiB, and a string is in the file before the mark that names it. */
static void definitions_come_first(void)
{
    struct trace_store *s = start();
    uint64_t known = 0, marks = 0;
    struct trace_event ev;
    struct trace *t;
    char text[32];

    for (unsigned int i = 0; i < 100000; i++) {
        int len = snprintf(text, sizeof(text), "name of mark %u", i);

        trace_store_put(s, TRACE_MARK, i,
                        HELP_FIELDS(1, 0, trace_store_string(s, text, (size_t)len)), NULL, 0);
    }
    t = finish(s);
    while (trace_next(t, &ev)) {
        known += ev.kind == TRACE_STRING;
        marks += ev.kind == TRACE_MARK && ev.mark.name <= known;
    }
    CHECK_EQ(marks, 100000);
    CHECK(trace_health(t).complete && !trace_health(t).damaged && !trace_health(t).cut);
    for (unsigned int n = 0; n < 8; n++) {
        struct trace_chunk c;

        memcpy(&c, written.data + chunk_offset(written, n), sizeof(c));
        CHECK_EQ(c.sequence, n);
        CHECK(c.raw < (257u << 10));
    }
    trace_close(t);
}

static void a_stretch_of_time(void)
{
    struct bytes b = small_trace();
    struct reading all = read_all(b), part = reading_of(b.data, b.size, 1200000000, 2000000000);
    size_t last_of_first = chunk_offset(b, 2) - 1;

    CHECK_EQ(all.count, 30);
    CHECK(all.health.complete && !all.health.cut && !all.health.damaged);
    CHECK_EQ(part.count,
             5 + 4 + 2);         /* definitions; samples of the first second; the next process */
    CHECK(part.health.complete); /* though END is outside of it */
    b.data[last_of_first] ^= 1;  /* in the first chunk of events, which the stretch does not need */
    CHECK_EQ(reading_of(b.data, b.size, 1200000000, 2000000000).health.damaged, 0);
    CHECK_EQ(reading_of(b.data, b.size, 1200000000, 2000000000).count, 11);
    CHECK_EQ(read_all(b).health.damaged, 1);
    CHECK_EQ(reading_of(b.data, b.size, UINT64_MAX, 0).count, 5);
}

static void rewind_starts_again(void)
{
    struct trace_store *s = start();
    struct trace_event ev;
    struct trace *t;

    for (uint64_t i = 0; i < 100; i++)
        trace_store_put(s, TRACE_MARK, i, NULL, 0, NULL, 0);
    t = finish(s);
    for (int i = 0; i < 7; i++)
        CHECK(trace_next(t, &ev) == 1);
    trace_rewind(t, 50, 59);
    for (uint64_t i = 50; i < 60; i++)
        CHECK(trace_next(t, &ev) == 1 && ev.time_ns == i);
    CHECK(trace_next(t, &ev) == 0 && trace_next(t, &ev) == 0);
    CHECK(trace_header(t)->bytes == 64 && trace_header(t)->version == TRACE_VERSION);
    trace_close(t);
}

/* Its only chunk of events is the last one, which any other reader looks into for its end. */
static void definitions_of_ones_own(void)
{
    struct trace_store *s = start();
    uint64_t strings = 0, others = 0;
    struct trace_event ev;
    struct err err;
    struct trace *t;

    for (uint64_t i = 0; i < 100; i++)
        trace_store_put(s, TRACE_MARK, i, HELP_FIELDS(1, 0, trace_store_string(s, "one", 3)), NULL,
                        0);
    trace_store_flush(s);
    t = trace_open(temporary("test.tide"), &err);
    if (!t)
        abort();
    trace_rewind_own(t);
    while (trace_next(t, &ev)) {
        strings += ev.kind == TRACE_STRING;
        others += ev.kind != TRACE_STRING;
    }
    CHECK(strings == 1 && others == 0);
    trace_rewind(t, 0, UINT64_MAX);
    CHECK(find(t, TRACE_MARK, &ev));
    trace_close(t);
    trace_close(finish(s));
}

static void times_of_the_store(void)
{
    struct trace_store *s = start();
    uint64_t before = trace_store_now(s), after;
    struct trace *t;

    usleep(2000);
    after = trace_store_now(s);
    CHECK(after - before >= 2000000 && after < 60000000000u);
    CHECK_EQ(trace_store_time(s, 0), 0);
    trace_store_put(s, TRACE_THREAD_END, 1000, (const uint64_t[]){1}, 1, NULL, 0);
    t = finish(s);
    CHECK_EQ(trace_last_ns(t), 1000); /* END is no later than what it ends */
    CHECK(trace_header(t)->mono_ns > 0 && trace_header(t)->real_ns > 1600000000000000000u);
    trace_close(t);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"every kind is read as it was written", every_kind},
        {"numbers at the edges of a varint", numbers_at_their_edges},
        {"time may go anywhere", time_goes_anywhere},
        {"fields may be absent at the end", absent_fields},
        {"a buffer that is full is left alone", a_full_buffer_is_left_alone},
        {"a text has one number", strings_are_numbered},
        {"definitions stand before what refers to them", definitions_come_first},
        {"a stretch of time needs only its chunks", a_stretch_of_time},
        {"rewind starts again", rewind_starts_again},
        {"of a trace being written definitions alone are read", definitions_of_ones_own},
        {"times count from the origin", times_of_the_store},
    };
    int failed = check_run(tests, sizeof(tests) / sizeof(*tests));

    arena_free(&help_arena);
    return failed;
}
