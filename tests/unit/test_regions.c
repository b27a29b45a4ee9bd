/* The named spans of a process against a plain list of them, which forgets nothing and searches
 * all. */
#include "check.h"

#include "base/count.h"
#include "collect/regions.h"

#define THREADS 3
#define NUMBERS 6
#define REGIONS 20000
#define OPEN_MOST 65536 /* as in regions.c: what a program leaves open beyond is forgotten */

struct plain {
    int thread;
    uint64_t number;
    bool open;
};

static struct regions process, threads[THREADS];
static struct plain plain[REGIONS + 1]; /* by region */
static uint64_t begun, dice;

static uint64_t chance(uint64_t of)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (dice >> 33) % of;
}

static void drop(void)
{
    regions_free(&process);
    for (int i = 0; i < THREADS; i++)
        regions_free(&threads[i]);
}

/* The one begun last that is open and fits; 0: none. -1: any thread, any number. */
static uint64_t last_of(int thread, int64_t number)
{
    for (uint64_t i = begun; i > 0; i--)
        if (plain[i].open && (thread < 0 || plain[i].thread == thread) &&
            (number < 0 || plain[i].number == (uint64_t)number))
            return i;
    return 0;
}

static void begin(int thread, uint64_t number)
{
    uint64_t around = last_of(thread, -1), same = number ? last_of(-1, (int64_t)number) : 0;

    CHECK_EQ(regions_begin(&process, &threads[thread], ++begun, number), around);
    plain[same].open = false; /* of two with one number, the later counts */
    plain[begun] = (struct plain){thread, number, true};
}

static void end(int thread, uint64_t number)
{
    uint64_t region = number ? last_of(-1, (int64_t)number) : last_of(thread, 0);

    CHECK_EQ(regions_end(&process, &threads[thread], number), region);
    plain[region].open = false;
}

static void test_any_order(void)
{
    begun = 0;
    memset(plain, 0, sizeof(plain));
    dice = 7;
    while (begun < REGIONS && !check_failures) {
        int thread = (int)chance(THREADS);
        uint64_t number = chance(2) ? 1 + chance(NUMBERS) : 0;

        if (chance(100) < 45)
            begin(thread, number);
        else
            end(thread, number);
    }
    drop();
}

static void test_nested(void)
{
    CHECK_EQ(regions_begin(&process, &threads[0], 1, 0), 0);
    CHECK_EQ(regions_begin(&process, &threads[0], 2, 0), 1);
    CHECK_EQ(regions_begin(&process, &threads[1], 3, 0), 0); /* of another thread: not inside */
    CHECK_EQ(regions_end(&process, &threads[0], 0), 2);
    CHECK_EQ(regions_begin(&process, &threads[0], 4, 0), 1);
    CHECK_EQ(regions_left(&threads[0]), 4); /* at the thread's end the innermost comes first */
    CHECK_EQ(regions_left(&threads[0]), 1);
    CHECK_EQ(regions_left(&threads[0]), 0);
    CHECK_EQ(regions_end(&process, &threads[0], 0), 0);
    drop();
}

static void test_ended_by_another_thread(void)
{
    regions_begin(&process, &threads[0], 1, 77);
    CHECK_EQ(regions_begin(&process, &threads[0], 2, 0), 1);
    CHECK_EQ(regions_end(&process, &threads[1], 77), 1);
    CHECK_EQ(regions_end(&process, &threads[1], 77), 0); /* once */
    CHECK_EQ(regions_end(&process, &threads[0], 0), 2);
    CHECK_EQ(regions_begin(&process, &threads[0], 3, 0), 0); /* the first is over */
    CHECK_EQ(regions_left(&threads[0]), 3);
    CHECK_EQ(regions_left(&threads[0]), 0); /* one with a number may go on after its thread */
    drop();
}

static void test_left_open(void)
{
    uint64_t ended = 0;

    for (uint64_t i = 1; i <= OPEN_MOST + 1000; i++)
        regions_begin(&process, &threads[0], i, 0);
    while (regions_end(&process, &threads[0], 0))
        ended++;
    CHECK_EQ(ended, OPEN_MOST);
    for (uint64_t i = 1; i <= OPEN_MOST + 1000; i++)
        regions_begin(&process, &threads[0], i, i);
    CHECK_EQ(regions_end(&process, &threads[1], OPEN_MOST), OPEN_MOST);
    CHECK_EQ(regions_end(&process, &threads[1], OPEN_MOST + 1), 0);
    drop();
}

/* A program that opens and ends with ever new numbers: the map of them is made anew. */
static void test_many_numbers(void)
{
    for (uint64_t i = 1; i <= 100000; i++) {
        regions_begin(&process, &threads[0], i, i);
        CHECK_EQ(regions_end(&process, &threads[0], i), i);
    }
    CHECK(process.by_number.used < 10000);
    drop();
}

int main(void)
{
    static const struct check_test tests[] = {
        {"regions in any order", test_any_order},
        {"regions that nest", test_nested},
        {"a region that another thread ends", test_ended_by_another_thread},
        {"regions that are left open are bounded", test_left_open},
        {"numbers that are never used again are forgotten", test_many_numbers},
    };

    return check_run(tests, COUNT(tests));
}
