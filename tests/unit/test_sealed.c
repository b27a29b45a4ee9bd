/* test_sealed - any part of a kept file is what was written, in whatever order it is read, or
 * nothing: also where more pages are read than are held.
 */
#include "resolve/sealed.h"

#include "check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE 4096u
#define PAGES 301u
#define BYTES ((PAGES - 1) * PAGE + 77)

static unsigned char bytes[BYTES];
static char path[] = "/tmp/test_sealed.XXXXXX";

static bool reads(struct sealed *p, uint64_t at, size_t size)
{
    unsigned char got[3 * PAGE];

    return sealed_read(p, at, got, size) && memcmp(got, bytes + at, size) == 0;
}

static void begin(struct sealed *p)
{
    int fd = open(path, O_RDWR | O_TRUNC | O_CLOEXEC);

    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)(i / PAGE * 31 + i * 7 + i / 251);
    CHECK(fd >= 0 && sealed_write(fd, bytes, BYTES));
    close(fd);
    if (!CHECK(sealed_open(p, open(path, O_RDONLY | O_CLOEXEC))))
        abort();
    CHECK_EQ(p->bytes, BYTES);
}

static void test_orders(void)
{
    struct sealed p;
    uint64_t at = 1;

    begin(&p);
    for (uint64_t page = 0; page < PAGES; page++)
        CHECK(reads(&p, page * PAGE, 77));
    for (uint64_t page = PAGES; page-- > 0;)
        CHECK(reads(&p, page * PAGE + 5, 72));
    for (int i = 0; i < 5000; i++) {
        at = at * 6364136223846793005u + 1442695040888963407u;
        CHECK(reads(&p, (at >> 33) % (BYTES - sizeof(bytes) / 100), 1 + (at >> 20) % (2 * PAGE)));
    }
    for (int i = 0; i < 1000; i++) /* more of one remainder than any number of ways */
        CHECK(reads(&p, (uint64_t)(i % 9) * 32 * PAGE + 9, 8));
    sealed_close(&p);
}

static void test_beyond(void)
{
    struct sealed p;
    char got[128];

    begin(&p);
    CHECK(reads(&p, BYTES - 1, 1) && reads(&p, BYTES, 0));
    CHECK(!sealed_read(&p, BYTES - 1, got, 2) && !sealed_read(&p, BYTES + 1, got, 0));
    CHECK(!sealed_read(&p, UINT64_MAX, got, 8));
    sealed_close(&p);
}

/* Each single bit, in places all over the file. */
static void test_bits(void)
{
    struct sealed p;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    off_t body;

    begin(&p);
    body = (off_t)p.body;
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t at = i * 7919 * 5 % BYTES;
        unsigned char bit = (unsigned char)(1u << i % 8), changed = bytes[at] ^ bit;

        CHECK(pwrite(fd, &changed, 1, body + (off_t)at) == 1);
        for (uint64_t page = 0; page < PAGES; page += 4) /* what was held of it is held no more */
            CHECK(page == at / PAGE || reads(&p, page * PAGE, 1));
        sealed_close(&p);
        CHECK(sealed_open(&p, open(path, O_RDONLY | O_CLOEXEC)));
        CHECK(!sealed_read(&p, at, &changed, 1) && !sealed_read(&p, at / PAGE * PAGE, &changed, 1));
        CHECK(pwrite(fd, &bytes[at], 1, body + (off_t)at) == 1 && reads(&p, at, 1));
    }
    sealed_close(&p);
    close(fd);
}

static void test_words_that_change_places(void)
{
    struct sealed p;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    unsigned char word[8], got;

    begin(&p);
    for (off_t i = 0; i + 40 <= (off_t)PAGE; i += 8)
        for (off_t apart = 8; apart <= 32; apart += 8) {
            off_t at = (off_t)p.body + i;

            memcpy(word, bytes + i + apart, 8);
            CHECK(pwrite(fd, word, 8, at) == 8 && pwrite(fd, bytes + i, 8, at + apart) == 8);
            sealed_close(&p);
            CHECK(sealed_open(&p, open(path, O_RDONLY | O_CLOEXEC)));
            CHECK(!sealed_read(&p, 0, &got, 1));
            CHECK(pwrite(fd, bytes + i, 40, at) == 40);
        }
    sealed_close(&p);
    close(fd);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"pages are read in any order", test_orders},
        {"nothing is read beyond the end", test_beyond},
        {"a page of which a bit has changed is not read", test_bits},
        {"nor one whose words have changed places", test_words_that_change_places},
    };
    int fd = mkstemp(path), failed;

    if (fd < 0)
        return 1;
    close(fd);
    failed = check_run(tests, sizeof(tests) / sizeof(tests[0]));
    remove(path);
    return failed;
}
