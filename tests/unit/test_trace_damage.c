/* test_trace_damage - traces that are cut, damaged, missing parts, too new or no traces at all,
 * and disks that are full.
 */
#include "check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "trace_help.h"

static struct bytes copy_of(struct bytes b)
{
    struct bytes copy = {0};

    bytes_add(&copy, b.data, b.size);
    assert(copy.data);
    return copy;
}

static void cut_at_every_byte(void)
{
    struct bytes b = small_trace();
    struct reading whole = read_all(b);

    CHECK_EQ(whole.count, 30);
    for (size_t size = 0; size < b.size; size++) {
        /* In memory of exactly this size, so that a sanitizer sees a read beyond it. */
        unsigned char *exact = malloc(size ? size : 1);
        struct reading r;

        memcpy(exact, b.data, size);
        r = reading_of(exact, size, 0, UINT64_MAX);
        CHECK_EQ(r.opened, size >= sizeof(struct trace_header));
        CHECK(is_prefix(r.all, whole.all));
        CHECK(!r.health.complete);
        CHECK_EQ(r.health.damaged, 0);
        free(exact);
    }
}

/* Of a large chunk that is cut, the part that is there is read. */
static void a_cut_chunk_gives_what_it_has(void)
{
    const char *path = temporary("cut.tide");
    struct err err;
    struct trace_store *s = trace_store_create(path, &err);
    struct reading whole, part;
    struct bytes b;

    for (uint64_t i = 0; i < 18000; i++) /* one chunk, two blocks of zstd */
        trace_store_put(s, TRACE_MARK, i, HELP_FIELDS(i, i * i, i % 7), NULL, 0);
    CHECK(trace_store_close(s, &err) == 0);
    b = bytes_of_file(path);
    remove(path);
    whole = read_all(b);
    CHECK_EQ(whole.count, 18001);
    CHECK_EQ(chunk_offset(b, 1), b.size);
    b.size -= 10;
    part = read_all(b);
    CHECK(part.count > 5000 && part.count < 18001);
    CHECK(is_prefix(part.all, whole.all));
    CHECK(part.health.cut && !part.health.damaged && !part.health.complete);
}

/* Whether each record of `part` is one of `whole`, in the same order. */
static bool is_subsequence(struct bytes part, struct bytes whole)
{
    const size_t head = 4 * sizeof(uint64_t) + TRACE_FIELDS_MOST * sizeof(uint64_t);
    size_t at = 0;

    for (size_t i = 0; i < part.size;) {
        uint64_t tail;
        size_t size;

        memcpy(&tail, part.data + i + 3 * sizeof(uint64_t), sizeof(tail));
        size = head + tail;
        for (;; at += head + tail) {
            if (at >= whole.size)
                return false;
            memcpy(&tail, whole.data + at + 3 * sizeof(uint64_t), sizeof(tail));
            if (head + tail == size && memcmp(part.data + i, whole.data + at, size) == 0)
                break;
        }
        at += size;
        i += size;
    }
    return true;
}

/* No record is ever invented, and none is missing without a word. */
static void flipped_bits(void)
{
    struct bytes b = small_trace();
    struct reading whole = read_all(b);
    unsigned int refused = 0, damaged = 0;

    for (size_t bit = 0; bit < b.size * 8; bit++) {
        struct reading r;

        b.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        r = read_all(b);
        b.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        refused += !r.opened;
        damaged += r.health.damaged > 0;
        if (!r.opened)
            continue;
        if (!CHECK(is_subsequence(r.all, whole.all)) ||
            !CHECK(r.count == whole.count || r.health.damaged || r.health.cut))
            printf("#   bit %zu of byte %zu\n", bit % 8, bit / 8);
    }
    CHECK(refused > 64 && damaged > b.size);
}

static uint64_t last_ns_of(struct bytes b)
{
    struct err err;
    struct trace *t = trace_open_bytes(b.data, b.size, "trace", &err);
    uint64_t last_ns = t ? trace_last_ns(t) : UINT64_MAX;

    trace_close(t);
    return last_ns;
}

/* From the heads of the chunks alone, also where one of them is broken. */
static void the_end_of_the_recording(void)
{
    struct bytes b = small_trace();
    size_t last = chunk_offset(b, 0), at;
    struct trace_chunk c = {0};

    for (unsigned int n = 0; (at = chunk_offset(b, n)) < b.size; n++)
        last = at;
    memcpy(&c, b.data + last, sizeof(c));
    CHECK_EQ(c.kind, TRACE_CHUNK_EVENTS);
    CHECK_EQ(last_ns_of(b), c.last_ns);
    memset(b.data + chunk_offset(b, 1), 0, 8);
    CHECK_EQ(last_ns_of(b), c.last_ns);
    b.size = last;
    CHECK(last_ns_of(b) < c.last_ns && last_ns_of(b) > 0);
    b.size = sizeof(struct trace_header);
    CHECK_EQ(last_ns_of(b), 0);
}

static void a_missing_chunk(void)
{
    struct bytes b = small_trace(), without = {0};
    size_t from = chunk_offset(b, 3), to = chunk_offset(b, 4);
    struct reading r;

    bytes_add(&without, b.data, from);
    bytes_add(&without, b.data + to, b.size - to);
    r = read_all(without);
    CHECK_EQ(r.count, 30 - 6);
    CHECK_EQ(r.health.damaged, 1);
    CHECK_EQ(r.health.damaged_bytes, 0);
    CHECK(r.health.complete);
}

static void bytes_between_chunks(void)
{
    struct bytes b = small_trace(), with = {0};
    size_t at = chunk_offset(b, 3);
    unsigned char zeros[1000] = "THNK THNK";
    struct reading r;

    bytes_add(&with, b.data, at);
    bytes_add(&with, zeros, sizeof(zeros));
    bytes_add(&with, b.data + at, b.size - at);
    r = read_all(with);
    CHECK_EQ(r.count, 30);
    CHECK_EQ(r.health.damaged, 1);
    CHECK_EQ(r.health.damaged_bytes, 1000);
}

/* Sizes in a chunk header that would make a reader allocate or run too far. */
static void impossible_sizes(void)
{
    struct bytes b = small_trace();
    size_t at = chunk_offset(b, 1);
    struct trace_chunk good, bad;

    memcpy(&good, b.data + at, sizeof(good));
    for (int i = 0; i < 4; i++) {
        struct bytes c = copy_of(b);
        struct reading r;

        bad = good;
        bad.raw = i == 0 ? TRACE_CHUNK_MOST + 1 : i == 1 ? UINT32_MAX : bad.raw;
        bad.stored = i == 2 ? UINT32_MAX : i == 3 ? 3 : bad.stored;
        memcpy(c.data + at, &bad, sizeof(bad));
        r = read_all(c);
        CHECK_EQ(r.count, 30 - 6);
        CHECK_EQ(r.health.damaged, 1);
        CHECK_EQ(r.health.damaged_bytes, sizeof(good) + good.stored);
        CHECK(r.health.complete);
    }
}

/* Sound chunks of records of an unknown kind, 129 bytes each: as many as may be, and one more. */
static void a_chunk_too_large(void)
{
    const uint32_t most = TRACE_CHUNK_MOST / 129;
    size_t room = ZSTD_compressBound(TRACE_CHUNK_MOST + 129);
    struct trace_chunk c = {.magic = TRACE_CHUNK_MAGIC, .kind = TRACE_CHUNK_EVENTS, .codec = 1};
    unsigned char *records = arena_alloc(&help_arena, TRACE_CHUNK_MOST + 129);
    unsigned char *packed = arena_alloc(&help_arena, room);

    memset(records, 0x7f, TRACE_CHUNK_MOST + 129); /* kind 127, length 127, ... */
    for (c.records = most; c.records <= most + 1; c.records++) {
        struct bytes b = small_trace();
        struct reading r;

        c.raw = c.records * 129;
        c.stored = (uint32_t)ZSTD_compress(packed, room, records, c.raw, 1);
        b.size = chunk_offset(b, 0);
        bytes_add(&b, &c, sizeof(c));
        bytes_add(&b, packed, c.stored);
        r = read_all(b);
        CHECK_EQ(r.health.damaged, c.records > most);
        CHECK_EQ(r.health.damaged_bytes, c.records > most ? sizeof(c) + c.stored : 0);
    }
}

static void what_is_no_trace(void)
{
    struct bytes b = small_trace();
    struct err err;

    CHECK(!trace_open("/nonexistent/x.tide", &err));
    CHECK_STR(err.text, "cannot open '/nonexistent/x.tide': No such file or directory");
    CHECK(!trace_open("/", &err));
    CHECK_STR(err.text, "'/' is a directory, not a trace");
    CHECK(!trace_open("/dev/null", &err));
    CHECK_STR(err.text, "'/dev/null' is not a regular file; save the trace to one first");
    CHECK(!trace_open_bytes("", 0, "x", &err));
    CHECK_STR(err.text, "'x' is empty");
    CHECK(!trace_open_bytes("{}\n", 3, "x", &err));
    CHECK_STR(err.text, "'x' is not a tidemark trace");
    CHECK(!trace_open_bytes(b.data, 63, "x", &err));
    CHECK_STR(err.text, "'x' was cut before anything was recorded");
    CHECK(!trace_open_bytes("\211TIDE\n\n", 7, "x", &err));
    CHECK_STR(err.text, "'x' was damaged by a transfer in text mode; copy it again as binary");
    b.data[offsetof(struct trace_header, least)] = 2;
    CHECK(!trace_open_bytes(b.data, b.size, "x", &err));
    CHECK_STR(err.text,
              "'x' is in trace format 2, but this tidemark reads formats up to 1: update tidemark");
}

/* A FIFO without a writer must not make it wait. */
static void a_fifo_is_refused(void)
{
    const char *path = temporary("fifo");
    struct err err;

    CHECK(mkfifo(path, 0600) == 0);
    CHECK(!trace_open(path, &err));
    CHECK(strstr(err.text, "is not a regular file"));
    remove(path);
}

/* A newer writer, still readable: its unknown chunk is stepped over, in a trace of ours it is
 * damage.
 */
static void an_unknown_chunk(void)
{
    struct bytes b = small_trace();
    size_t at = chunk_offset(b, 1);
    struct reading r;

    b.data[at + offsetof(struct trace_chunk, kind)] = 9;
    r = read_all(b);
    CHECK(r.count == 24 && r.health.damaged == 1);
    b.data[offsetof(struct trace_header, version)] = TRACE_VERSION + 1;
    r = read_all(b);
    CHECK(r.count == 24 && r.health.damaged == 0 && r.health.complete);
}

/* Write far more than fits, then see that the file ends at a whole chunk, and that what it holds
 * and what the sentence says was lost are together all that was written.
 */
static void fill_up(const char *path, const char *why)
{
    struct err err = {0};
    struct trace_store *s = trace_store_create(path, &err);
    struct reading r;
    uint64_t lost = 0;

    if (!CHECK(s != NULL))
        return;
    for (uint64_t i = 0; i < 200000; i++)
        trace_store_put(s, TRACE_MARK, i, HELP_FIELDS(i, i * i * i * 7919, i * i), NULL, 0);
    CHECK(trace_store_close(s, &err) == -1);
    CHECK(strstr(err.text, why));
    CHECK(strstr(err.text, "; ") &&
          sscanf(strstr(err.text, "; "), "; %" SCNu64 " records", &lost) == 1);
    r = read_all(bytes_of_file(path));
    CHECK(r.count > 0);
    CHECK_EQ(r.count + lost, 200001);
    CHECK(!r.health.cut && !r.health.damaged && !r.health.complete);
}

/* The limit also raises SIGXFSZ, which must not end us. */
static void a_file_size_limit(void)
{
    const char *path = temporary("limit.tide");
    struct rlimit before, small;

    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 700000;
    setrlimit(RLIMIT_FSIZE, &small);
    fill_up(path, "File too large");
    setrlimit(RLIMIT_FSIZE, &before);
    remove(path);
}

static void a_small_disk(void)
{
    char directory[600], path[640];

    snprintf(directory, sizeof(directory), "%s", temporary("disk"));
    snprintf(path, sizeof(path), "%s/x.tide", directory);
    CHECK(mkdir(directory, 0700) == 0);
    if (mount("tidemark-test", directory, "tmpfs", 0, "size=704k") < 0) {
        check_skip("a tmpfs cannot be mounted");
    } else {
        fill_up(path, "No space left on device");
        umount2(directory, MNT_DETACH);
    }
    rmdir(directory);
}

static void a_full_device(void)
{
    struct err err;

    if (access("/dev/full", W_OK) < 0) {
        check_skip("no /dev/full");
        return;
    }
    CHECK(!trace_store_create("/dev/full", &err));
    CHECK_STR(err.text, "cannot write '/dev/full': No space left on device");
    CHECK(!trace_store_create("/nonexistent/x.tide", &err));
    CHECK_STR(err.text, "cannot write '/nonexistent/x.tide': No such file or directory");
}

static void a_broken_pipe(void)
{
    const char *path = temporary("pipe");
    struct trace_store *s;
    struct err err;
    sigset_t pending;
    int reader;

    CHECK(mkfifo(path, 0600) == 0);
    reader = open(path, O_RDONLY | O_NONBLOCK);
    s = trace_store_create(path, &err);
    close(reader);
    CHECK(s && trace_store_close(s, &err) == -1);
    CHECK(strstr(err.text, "Broken pipe; 1 record was lost"));
    sigpending(&pending);
    CHECK(!sigismember(&pending, SIGPIPE));
    remove(path);
}

static void a_record_too_large(void)
{
    static char text[5u << 20];
    const char *path = temporary("large.tide");
    struct err err;
    struct trace_store *s = trace_store_create(path, &err);
    struct reading r;

    memset(text, 'x', sizeof(text));
    trace_store_string(s, text, sizeof(text) / 2);
    trace_store_string(s, text, sizeof(text));
    trace_store_string(s, "after", 5);
    CHECK(trace_store_close(s, &err) == -1);
    CHECK(strstr(err.text, "lacks 1 record that was too large"));
    r = read_all(bytes_of_file(path));
    CHECK(r.count == 3 && r.health.complete && !r.health.damaged);
    remove(path);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"a trace cut at any byte reads up to the cut", cut_at_every_byte},
        {"a cut chunk gives what it has", a_cut_chunk_gives_what_it_has},
        {"a flipped bit invents nothing and is noticed", flipped_bits},
        {"the end of the recording", the_end_of_the_recording},
        {"a missing chunk is counted", a_missing_chunk},
        {"bytes between chunks are stepped over", bytes_between_chunks},
        {"impossible sizes are refused", impossible_sizes},
        {"a chunk that is too large is refused", a_chunk_too_large},
        {"what is no trace is refused with a sentence", what_is_no_trace},
        {"a FIFO is refused at once", a_fifo_is_refused},
        {"an unknown chunk of a newer version", an_unknown_chunk},
        {"a file size limit", a_file_size_limit},
        {"a small disk", a_small_disk},
        {"a full device and a missing directory", a_full_device},
        {"a broken pipe", a_broken_pipe},
        {"a record that is too large", a_record_too_large},
    };
    int failed = check_run(tests, sizeof(tests) / sizeof(*tests));

    arena_free(&help_arena);
    return failed;
}
