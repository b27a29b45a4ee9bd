/* check - a very small test harness that prints TAP.
 *
 * A test program has functions without arguments, a table of them, and `return check_run(table,
 * count)` in main. A failed CHECK says where and goes on; the test is then "not ok".
 */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct check_test {
    const char *name;
    void (*run)(void);
};

static unsigned int check_failures; /* in the test that runs */
static const char *check_skipped;   /* why it was skipped */

static inline bool check_true(bool ok, const char *what, const char *file, int line)
{
    if (!ok) {
        check_failures++;
        printf("# %s:%d: %s\n", file, line, what);
    }
    return ok;
}

static inline bool check_equal(uint64_t a, uint64_t b, const char *what, const char *file, int line)
{
    if (check_true(a == b, what, file, line))
        return true;
    printf("#   %" PRIu64 " is not %" PRIu64 "\n", a, b);
    return false;
}

static inline bool check_text(const char *a, const char *b, const char *what, const char *file,
                              int line)
{
    if (check_true(a && b && strcmp(a, b) == 0, what, file, line))
        return true;
    printf("#   '%s' is not '%s'\n", a ? a : "(null)", b ? b : "(null)");
    return false;
}

/* Each gives whether it held, so that a test can stop where going on makes no sense. */
#define CHECK(cond) check_true((cond), #cond, __FILE__, __LINE__)
#define CHECK_EQ(a, b) check_equal((uint64_t)(a), (uint64_t)(b), #a " == " #b, __FILE__, __LINE__)
#define CHECK_STR(a, b) check_text((a), (b), #a " is " #b, __FILE__, __LINE__)

/* Say that this test cannot run here, then return from it. */
static inline void check_skip(const char *why)
{
    check_skipped = why;
}

static inline int check_run(const struct check_test *tests, size_t count)
{
    int failed = 0;

    printf("1..%zu\n", count);
    for (size_t i = 0; i < count; i++) {
        check_failures = 0;
        check_skipped = NULL;
        fflush(stdout);
        tests[i].run();
        printf("%sok %zu - %s%s%s\n", check_failures ? "not " : "", i + 1, tests[i].name,
               check_skipped ? " # SKIP " : "", check_skipped ? check_skipped : "");
        failed |= check_failures != 0;
    }
    return failed;
}

#endif
