/* sealed - see sealed.h. */
#include "resolve/sealed.h"

#include "base/hash.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u
#define LANES 4u

static const char MAGIC[8] = "tidenam2";

struct head {
    char magic[8];
    uint64_t bytes, table; /* of the body; the checksum of the table */
};

/* Four sums at a time, none of which waits for another: this is most of what reading takes. */
static uint64_t checksum(const void *bytes, size_t size, uint64_t place)
{
    uint64_t sums[LANES], words[LANES], sum = hash_mix(place, size);
    size_t at = 0;

    for (size_t i = 0; i < LANES; i++)
        sums[i] = sum + i;
    for (; size - at >= sizeof(words); at += sizeof(words)) {
        memcpy(words, (const char *)bytes + at, sizeof(words));
        for (size_t i = 0; i < LANES; i++)
            sums[i] = hash_mix(sums[i], words[i]);
    }
    for (size_t i = 0; i < LANES; i++)
        sum = hash_mix(sum, sums[i]);
    return hash_bytes(sum, (const char *)bytes + at, size - at);
}

static size_t page_bytes(uint64_t bytes, size_t page)
{
    uint64_t left = bytes - (uint64_t)page * PAGE;

    return left < PAGE ? (size_t)left : PAGE;
}

static size_t sealed_in(uint64_t bytes)
{
    return (size_t)((bytes + PAGE - 1) / PAGE);
}

void sealed_of_memory(struct sealed *p, const void *bytes, size_t size)
{
    *p = (struct sealed){.memory = bytes, .bytes = size, .fd = -1};
}

static bool read_at(int fd, void *to, size_t size, uint64_t at)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = pread(fd, (char *)to + done, size - done, (off_t)(at + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* The head and the table, which say what the rest must be. */
static bool read_table(struct sealed *p)
{
    struct head head;
    struct stat file;

    if (fstat(p->fd, &file) < 0 || !S_ISREG(file.st_mode) ||
        !read_at(p->fd, &head, sizeof(head), 0) || memcmp(head.magic, MAGIC, sizeof(MAGIC)) != 0 ||
        head.bytes > SEALED_BYTES_MOST)
        return false;
    p->bytes = head.bytes;
    p->count = sealed_in(head.bytes);
    p->body = sizeof(head) + p->count * sizeof(*p->checks);
    if ((uint64_t)file.st_size != p->body + p->bytes)
        return false;
    p->checks = memory_zeroed((p->count + 1) * sizeof(*p->checks));
    p->loaded = memory_zeroed((p->count + 1) * sizeof(*p->loaded));
    return read_at(p->fd, p->checks, p->count * sizeof(*p->checks), sizeof(head)) &&
           checksum(p->checks, p->count * sizeof(*p->checks), p->bytes) == head.table;
}

bool sealed_open(struct sealed *p, int fd)
{
    *p = (struct sealed){.fd = fd};
    if (read_table(p))
        return true;
    sealed_close(p);
    return false;
}

void sealed_close(struct sealed *p)
{
    for (size_t i = 0; p->loaded && i < p->count; i++)
        free(p->loaded[i]);
    free(p->loaded);
    free(p->checks);
    if (p->fd >= 0)
        close(p->fd);
    *p = (struct sealed){.fd = -1};
}

static const unsigned char *page_at(struct sealed *p, size_t page)
{
    size_t size = page_bytes(p->bytes, page);
    unsigned char *bytes;

    if (p->loaded[page])
        return p->loaded[page];
    bytes = memory_resize(NULL, size);
    if (read_at(p->fd, bytes, size, p->body + (uint64_t)page * PAGE) &&
        checksum(bytes, size, page) == p->checks[page])
        return p->loaded[page] = bytes;
    free(bytes);
    return NULL;
}

bool sealed_read(struct sealed *p, uint64_t at, void *to, size_t size)
{
    if (at > p->bytes || size > p->bytes - at)
        return false;
    if (p->memory && size)
        memcpy(to, (const char *)p->memory + at, size);
    while (!p->memory && size) {
        const unsigned char *page = page_at(p, (size_t)(at / PAGE));
        size_t from = (size_t)(at % PAGE), part = size < PAGE - from ? size : PAGE - from;

        if (!page)
            return false;
        memcpy(to, page + from, part);
        to = (char *)to + part;
        at += part;
        size -= part;
    }
    return true;
}

static bool write_all(int fd, const void *bytes, size_t size)
{
    while (size) {
        ssize_t n = write(fd, bytes, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes = (const char *)bytes + n;
        size -= (size_t)n;
    }
    return true;
}

bool sealed_write(int fd, const void *bytes, size_t size)
{
    size_t count = sealed_in(size);
    uint64_t *checks = memory_zeroed((count + 1) * sizeof(*checks));
    struct head head = {.bytes = size};
    bool done;

    memcpy(head.magic, MAGIC, sizeof(MAGIC));
    for (size_t i = 0; i < count; i++)
        checks[i] = checksum((const char *)bytes + i * PAGE, page_bytes(size, i), i);
    head.table = checksum(checks, count * sizeof(*checks), size);
    done = write_all(fd, &head, sizeof(head)) && write_all(fd, checks, count * sizeof(*checks)) &&
           write_all(fd, bytes, size);
    free(checks);
    return done;
}
