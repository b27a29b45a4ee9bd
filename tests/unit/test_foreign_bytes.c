/* What others wrote: letters that may be shown, and a file that is cut while it is mapped. */
#include "base/rights.h"
#include "base/utf8.h"
#include "check.h"
#include "trace/mapped.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *clean(const char *text)
{
    static char out[256];

    return utf8_clean(out, sizeof(out), text);
}

static void test_letters_stay(void)
{
    CHECK_STR(clean("plain"), "plain");
    CHECK_STR(clean("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"),
              "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
    CHECK_STR(clean("a\tb\nc"), "a b c");
}

static void test_what_is_hidden_or_steers_goes(void)
{
    CHECK_STR(clean("\x1b[2J\x07\x7f\r"), "?[2J???");
    CHECK_STR(clean("\xc2\x9b"), "?"); /* U+009B: a control of two bytes */
    CHECK_STR(clean("\xe2\x80\xae"
                    "a\xe2\x81\xa6"),
              "?a?");                                            /* overrides, isolates */
    CHECK_STR(clean("\xe2\x80\x8b\xef\xbb\xbf\xc2\xad"), "???"); /* without width */
    CHECK_STR(clean("\xf3\xa0\x81\x81"), "?");                   /* U+E0041: a tag */
}

static void test_what_is_no_utf8_goes(void)
{
    CHECK_STR(clean("\xff\xfe"), "??");
    CHECK_STR(clean("\xc0\xaf"), "??");           /* too long a form of '/' */
    CHECK_STR(clean("\xed\xa0\x80"), "???");      /* half of a pair */
    CHECK_STR(clean("\xf4\x90\x80\x80"), "????"); /* above U+10FFFF */
    CHECK_STR(clean("\xe2\x82"), "??");           /* cut */
}

static void test_a_letter_is_not_cut_in_two(void)
{
    char out[4];

    CHECK_STR(utf8_clean(out, sizeof(out), "ab\xc3\xa4"), "ab");
}

/* The first page stays; what was behind it reads as zeros, however much it is. */
static void test_a_file_that_is_cut(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 100 * page;
    int fd = memfd_create("cut", MFD_CLOEXEC);
    const volatile char *bytes;
    struct mapped *m;
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL); /* as a recorder does */
    CHECK(ftruncate(fd, (off_t)size) == 0 && pwrite(fd, "x", 1, 0) == 1);
    CHECK(pwrite(fd, "y", 1, (off_t)(50 * page)) == 1);
    m = mapped_open(fd, size);
    if (!CHECK(m != NULL))
        return;
    bytes = mapped_bytes(m);
    CHECK_EQ(bytes[50 * page], 'y');
    CHECK(!mapped_is_cut(m));
    CHECK(ftruncate(fd, (off_t)page) == 0);
    for (size_t i = 99; i > 0; i--)
        CHECK_EQ(bytes[i * page], 0);
    CHECK_EQ(bytes[0], 'x');
    CHECK(mapped_is_cut(m));
    mapped_close(m);
    close(fd);
}

static void test_rights_as_text(void)
{
    struct rights given = {.known = true,
                           .uid = 1000,
                           .gid = 100,
                           .groups = {4, 27},
                           .group_count = 2,
                           .capabilities = 0x1f},
                  read;
    char text[RIGHTS_TEXT];

    CHECK_STR(rights_text(&given, text), "1000,100,1f,4,27");
    CHECK(rights_parse(&read, text) && read.uid == 1000 && read.gid == 100 &&
          read.group_count == 2);
    CHECK(read.groups[1] == 27 && read.capabilities == 0x1f);
    given.mixed = true; /* then what everybody may do */
    CHECK_STR(rights_text(&given, text), "65534,65534,1f");
    CHECK(!rights_parse(&read, "0") && !rights_parse(&read, "0,0,0,x"));
}

int main(void)
{
    static const struct check_test tests[] = {
        {"letters stay", test_letters_stay},
        {"what is hidden or steers goes", test_what_is_hidden_or_steers_goes},
        {"what is no UTF-8 goes", test_what_is_no_utf8_goes},
        {"a letter is not cut in two", test_a_letter_is_not_cut_in_two},
        {"a file that is cut", test_a_file_that_is_cut},
        {"rights as text", test_rights_as_text},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
