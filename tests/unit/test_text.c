/* text: sizes, intervals and dates, with every form that is accepted and refused. */
#include "base/text.h"
#include "check.h"

static uint64_t size(const char *text)
{
    struct err err;
    uint64_t bytes;

    return text_parse_size(text, &bytes, &err) < 0 ? UINT64_MAX - 1 : bytes;
}

static uint64_t interval(const char *text)
{
    struct err err;
    uint64_t ns;

    return text_parse_interval(text, &ns, &err) < 0 ? 0 : ns;
}

static void test_sizes(void)
{
    CHECK_EQ(size("512"), 512);
    CHECK_EQ(size("1B"), 1);
    CHECK_EQ(size("1KB"), 1000);
    CHECK_EQ(size("1K"), 1000);
    CHECK_EQ(size("512M"), 512000000);
    CHECK_EQ(size("1G"), 1000000000);
    CHECK_EQ(size("1.5GB"), 1500000000);
    CHECK_EQ(size("1KiB"), 1024);
    CHECK_EQ(size("1kib"), 1024);
    CHECK_EQ(size("1MiB"), 1048576);
    CHECK_EQ(size(" 1 GiB "), 1073741824);
    CHECK_EQ(size("2TiB"), 2199023255552);
    CHECK_EQ(size("1tb"), 1000000000000);
    CHECK_EQ(size(".5M"), 500000);
    CHECK_EQ(size("99999999999999999999"), UINT64_MAX);
    CHECK_EQ(size("18446744073709551615"), UINT64_MAX);
}

static void test_bad_sizes(void)
{
    static const char *const bad[] = {
        "abc",   "",      "1.5.2G",
        "1e3",   "1XB",   "5PB",
        "1Ki",   "-1",    ".",
        " ",     "K",     "0x10",
        "1 G B", "1GiBB", "9999999999999999999999999999999999999999999999999999999999999999K"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (!CHECK_EQ(size(bad[i]), UINT64_MAX - 1))
            printf("#   %s\n", bad[i]);
}

static void test_size_text(void)
{
    char out[TEXT_SIZE];

    CHECK_STR(text_size(out, 0), "0 B");
    CHECK_STR(text_size(out, 512), "512 B");
    CHECK_STR(text_size(out, 1024), "1.0 KiB");
    CHECK_STR(text_size(out, 1 << 20), "1.0 MiB");
    CHECK_STR(text_size(out, (1 << 20) - 1), "1.0 MiB");
    CHECK_STR(text_size(out, 1020 << 10), "1020.0 KiB");
    CHECK_STR(text_size(out, 1 << 30), "1.0 GiB");
    CHECK_STR(text_size(out, UINT64_MAX), "16777216.0 TiB");
    CHECK_STR(text_size_in(out, 1500000, "MB"), "1.5 MB");
    CHECK_STR(text_size_in(out, 1500000, "B"), "1500000 B");
    CHECK_STR(text_size_in(out, 1536, "KiB"), "1.5 KiB");
    CHECK_STR(text_size_in(out, 1536, NULL), "1.5 KiB");
    CHECK(text_unit_known("GiB") && !text_unit_known("gib") && !text_unit_known("TB"));
}

/* Of something that took 8 s; UINT64_MAX: refused. */
static uint64_t moment(const char *text)
{
    struct err err;
    uint64_t ns;

    return text_parse_moment(text, 8000000000, &ns, &err) < 0 ? UINT64_MAX : ns;
}

static void test_moments(void)
{
    CHECK_EQ(moment("0"), 0);
    CHECK_EQ(moment("1.5"), 1500000000);
    CHECK_EQ(moment("1.5s"), 1500000000);
    CHECK_EQ(moment("200ms"), 200000000);
    CHECK_EQ(moment("7us"), 7000);
    CHECK_EQ(moment("2m"), 120000000000);
    CHECK_EQ(moment("1h"), 3600000000000);
    CHECK_EQ(moment("50%"), 4000000000);
    CHECK_EQ(moment("100%"), 8000000000);
    CHECK_EQ(moment(""), UINT64_MAX);
    CHECK_EQ(moment("%"), UINT64_MAX);
    CHECK_EQ(moment("-1"), UINT64_MAX);
    CHECK_EQ(moment("1.5x"), UINT64_MAX);
    CHECK_EQ(moment("1e3"), UINT64_MAX);
    CHECK_EQ(moment("99999999999999h"), UINT64_MAX);
}

static void test_intervals(void)
{
    CHECK_EQ(interval("100"), 100000000);
    CHECK_EQ(interval("1"), 1000000);
    CHECK_EQ(interval("50ms"), 50000000);
    CHECK_EQ(interval("0.05s"), 50000000);
    CHECK_EQ(interval("1.5ms"), 1500000);
    CHECK_EQ(interval("2s"), 2000000000);
    CHECK_EQ(interval("1m"), 60000000000);
    CHECK_EQ(interval("0"), 0);
    CHECK_EQ(interval("1.5"), 0);
    CHECK_EQ(interval("-5"), 0);
    CHECK_EQ(interval("0.5ms"), 0);
    CHECK_EQ(interval(""), 0);
    CHECK_EQ(interval("5h"), 0);
    CHECK_EQ(interval("100000000"), 0);
}

static void test_dates(void)
{
    char out[TEXT_STAMP];

    CHECK_STR(text_stamp(out, 1717245296500000000), "2024-06-01T12:34:56.500000+00:00");
    CHECK_STR(text_date(out, 1717245296500000000), "2024-06-01 12:34:56");
    CHECK_STR(text_stamp(out, 0), "1970-01-01T00:00:00.000000+00:00");
    CHECK_STR(text_date(out, 951782400000000000), "2000-02-29 00:00:00");
}

static void test_durations(void)
{
    char out[TEXT_SIZE];

    CHECK_STR(text_duration(out, 999), "1 us");
    CHECK_STR(text_duration(out, 999700), "1 ms");
    CHECK_STR(text_duration(out, 12000000), "12 ms");
    CHECK_STR(text_duration(out, 999700000), "1.00 s");
    CHECK_STR(text_duration(out, 59999000000), "1 m 00 s");
    CHECK_STR(text_duration(out, 1500000000), "1.50 s");
    CHECK_STR(text_duration(out, 125000000000), "2 m 05 s");
    CHECK_STR(text_duration(out, 3725000000000), "1 h 02 m");
}

static void test_rounded(void)
{
    CHECK_EQ(text_rounded(0), 0);
    CHECK_EQ(text_rounded(-3), 0);
    CHECK_EQ(text_rounded(2.5), 3);
    CHECK_EQ(text_rounded(0x1p64), UINT64_MAX);
    CHECK_EQ(text_rounded(1e300), UINT64_MAX);
}

static void test_count(void)
{
    char text[TEXT_SIZE];

    CHECK_STR(text_count(text, 0), "0");
    CHECK_STR(text_count(text, 999), "999");
    CHECK_STR(text_count(text, 1000), "1,000");
    CHECK_STR(text_count(text, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void test_base(void)
{
    CHECK_STR(text_base("/usr/lib/libc.so.6"), "libc.so.6");
    CHECK_STR(text_base("app.py"), "app.py");
    CHECK_STR(text_base("a folder/"), "a folder/");
    CHECK_STR(text_base(""), "");
    CHECK(!text_base(NULL));
    CHECK_STR(text_source("/app/lib/util.py"), "util.py");
    CHECK_STR(text_source("/app/lib/__init__.py"), "lib/__init__.py");
    CHECK_STR(text_source("lib/__main__.py"), "lib/__main__.py");
    CHECK_STR(text_source("/__init__.py"), "__init__.py");
    CHECK_STR(text_source("__init__.py"), "__init__.py");
    CHECK(!text_source(NULL));
}

int main(void)
{
    static const struct check_test tests[] = {
        {"sizes", test_sizes},
        {"what is no size", test_bad_sizes},
        {"sizes as text", test_size_text},
        {"intervals", test_intervals},
        {"moments", test_moments},
        {"counts", test_count},
        {"dates", test_dates},
        {"durations", test_durations},
        {"rounded numbers", test_rounded},
        {"names of files", test_base},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
