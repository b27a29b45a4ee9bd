/* Memory of devices as rings tell it: in any order within a tick, held by mappings, ended with its
 * owner. */
#include "check.h"

#include "base/count.h"
#include "collect/absorb.h"
#include "collect/notes.h"
#include "collect/spaces.h"
#include "trace_help.h"

#define WORDS 64u
#define CUDA 0u /* a vendor */

static struct absorb absorb;
static struct absorb_process process;
static struct absorb_ring rings[2];
static uint64_t kind; /* of what is told next: of its space, or of an access */

static void make(void)
{
    struct err err;

    memset(&absorb, 0, sizeof(absorb));
    memset(&process, 0, sizeof(process));
    absorb.store = trace_store_create(temporary("spaces.tide"), &err);
    process.number = 1;
    for (int i = 0; i < 2; i++)
        rings[i] = (struct absorb_ring){.process = &process, .tick = 1000, .thread = 1u + i};
    CHECK(absorb.store != NULL);
}

/* What a thread tells; the words that were taken. */
static uint64_t tell(int thread, enum ring_space what, uint64_t handle, uint64_t bytes,
                     uint64_t when, uint64_t owner)
{
    static const char text[] = "cuda:0alloc";
    uint64_t words[WORDS] = {
        RING_SPACE | (uint64_t)what << 5,      handle, bytes, kind, when, owner,
        (uint64_t)(sizeof(text) - 1) << 32 | 6};

    memcpy(words + 7, text, sizeof(text) - 1);
    return notes_take(&absorb, &rings[thread], words, words[0], WORDS);
}

/* All that is in the trace: "+1@1100 -1@1200", a block's number and the time. */
static char *told(void)
{
    static char all[1024];
    const char *path = temporary("spaces.tide");
    struct trace_event ev;
    struct err err;
    struct bytes written;
    struct trace *t;
    size_t at = 0;

    spaces_settle(&absorb, &process);
    CHECK_EQ(trace_store_close(absorb.store, &err), 0);
    written = bytes_of_file(path);
    remove(path);
    t = trace_open_bytes(written.data, written.size, "trace", &err);
    all[0] = '\0';
    while (t && trace_next(t, &ev)) {
        if (ev.kind == TRACE_ACCESS)
            at += (size_t)snprintf(all + at, sizeof(all) - at, "%s=%d/%d@%d", at ? " " : "",
                                   (int)ev.access.access_kind, (int)ev.access.space,
                                   (int)ev.time_ns);
        bool alloc = ev.kind == TRACE_SPACE_ALLOC;

        if (alloc || ev.kind == TRACE_SPACE_FREE)
            at += (size_t)snprintf(
                all + at, sizeof(all) - at, "%s%c%d@%d", at ? " " : "", alloc ? '+' : '-',
                (int)(alloc ? ev.space_alloc.block : ev.space_free.block), (int)ev.time_ns);
    }
    trace_close(t);
    absorb.store = NULL;
    absorb_process_free(&absorb, &process);
    stackmap_free(&absorb.stackmap);
    intmap_free(&absorb.spaces.spaces);
    return all;
}

#define CHECK_TOLD(expected) CHECK(strcmp(told(), (expected)) == 0)

static void test_order(void)
{
    make();
    tell(1, RING_SPACE_ALLOC, 0x7000, 64, 1300, 0); /* its ring is read before the other */
    tell(0, RING_SPACE_ALLOC, 0x7000, 64, 1100, 0);
    tell(0, RING_SPACE_FREE, 0x7000, 0, 1200, 0);
    CHECK_TOLD("+1@1100 -1@1200 +2@1300");
}

/* The free of the first is told late, as its call took long: its handle is another's by then. */
static void test_late_free(void)
{
    make();
    tell(0, RING_SPACE_ALLOC, 0x7000, 64, 1100, 0);
    tell(1, RING_SPACE_ALLOC, 0x7000, 64, 1300, 0);
    spaces_settle(&absorb, &process);
    tell(0, RING_SPACE_FREE, 0x7000, 0, 1200, 0);
    tell(1, RING_SPACE_FREE, 0x7000, 0, 1500, 0);
    CHECK_TOLD("+1@1100 -1@1300 +2@1300 -2@1500");
}

static void test_classes(void)
{
    make();
    tell(0, RING_SPACE_ALLOC, 0x7000, 64, 1100, 0);
    tell(0, RING_SPACE_ALLOC | 1 << 3, 0x7000, 64, 1200, 0); /* a handle, and no address */
    tell(0, RING_SPACE_FREE | 1 << 3, 0x7000, 0, 1300, 0);
    CHECK_TOLD("+1@1100 +2@1200 -2@1300");
}

static void test_mappings(void)
{
    make();
    tell(0, RING_SPACE_ALLOC, 0x10, 64, 1100, 0);
    tell(0, RING_SPACE_HOLD, 0x10, 0x1000, 1200, 0x7000);
    tell(0, RING_SPACE_HOLD, 0x10, 0x1000, 1300, 0x8000);
    tell(0, RING_SPACE_FREE, 0x10, 0, 1400, 0);
    tell(0, RING_SPACE_LET_GO, 0x9000, 0x1000, 1500, 0); /* nothing is mapped there */
    tell(0, RING_SPACE_LET_GO, 0x7000, 0x2000, 1600, 0); /* both, side by side */
    tell(0, RING_SPACE_FREE, 0x10, 0, 1700, 0);          /* once too often */
    CHECK_TOLD("+1@1100 -1@1600");
}

static void test_owners(void)
{
    make();
    tell(0, RING_SPACE_ALLOC, 0x7000, 64, 1100, 0xc1);
    tell(0, RING_SPACE_ALLOC, 0x8000, 64, 1200, 0xc2);
    tell(0, RING_SPACE_ALLOC | 8 << 3, 0x9000, 64, 1250, 0xc1); /* of another vendor */
    tell(1, RING_SPACE_GONE, 0, 0, 1300, 0xc1);
    CHECK_TOLD("+1@1100 +2@1200 +3@1250 -1@1300");
}

/* In the order of their times, and only to what lives then; that all are told is said of each
 * space. */
static void test_accesses(void)
{
    make();
    kind = TRACE_ACCESS_ALL;
    tell(0, RING_SPACE_ACCESS, 0, 0, 1050, 0);
    kind = TRACE_ACCESS_READ;
    tell(1, RING_SPACE_ACCESS, 0x7000, 0, 1200, 0);
    tell(1, RING_SPACE_ACCESS, 0x7000, 0, 1090, 0); /* of another that had this handle */
    tell(1, RING_SPACE_ACCESS, 0x8000, 0, 1200, 0); /* unknown */
    kind = 0;
    tell(0, RING_SPACE_ALLOC, 0x7000, 64, 1100, 0);
    tell(0, RING_SPACE_FREE, 0x7000, 0, 1300, 0);
    tell(0, RING_SPACE_ALLOC, 0x7000, 64, 1400, 0);
    CHECK_TOLD("=4/1@1100 +1@1100 =1/1@1200 -1@1300 +2@1400");
}

static void test_nonsense(void)
{
    uint64_t words[WORDS] = {RING_SPACE | (uint64_t)RING_SPACE_END << 5};

    make();
    if (RING_SPACE_END < 8)
        CHECK_EQ(notes_take(&absorb, &rings[0], words, words[0], WORDS), 0);
    words[0] = RING_SPACE;
    words[3] = RING_SPACE_KINDS; /* no such kind of a space */
    CHECK_EQ(notes_take(&absorb, &rings[0], words, words[0], WORDS), 0);
    words[3] = 0;
    words[6] = 4ull << 32 | 5; /* its part is longer than all */
    CHECK_EQ(notes_take(&absorb, &rings[0], words, words[0], WORDS), 0);
    words[6] = (uint64_t)(RING_TEXT_MOST + 1) << 32;
    CHECK_EQ(notes_take(&absorb, &rings[0], words, words[0], WORDS), 0);
    CHECK_EQ(notes_take(&absorb, &rings[0], words, words[0], 6), 0); /* cut off */
    CHECK_TOLD("");
}

int main(void)
{
    static const struct check_test tests[] = {
        {"events of a tick are taken in the order of their times", test_order},
        {"a free that is told late is of the block that had ended", test_late_free},
        {"a handle is no address", test_classes},
        {"what is mapped lives on after its release", test_mappings},
        {"what an owner has ends with it, and nothing else", test_owners},
        {"accesses are to what lives then", test_accesses},
        {"nonsense is no record", test_nonsense},
    };
    int failed = check_run(tests, COUNT(tests));

    arena_free(&help_arena);
    return failed;
}
