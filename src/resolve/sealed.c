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

/* Few pages are held: who asks in the order of addresses is done with one before it needs another,
 * and to read the rare one again costs less than fresh memory for each.
 */
#define SETS 4u
#define WAYS 4u /* of a set, the one used last comes first */
#define NO_PAGE SIZE_MAX

static const char MAGIC[8] = "tidenam3";

struct head {
    char magic[8];
    uint64_t bytes, table; /* of the body; the checksum of the table */
};

struct sealed_held {
    size_t page;
    unsigned char *bytes;
};

static uint64_t mix_word(uint64_t sum, uint64_t word)
{
    return ((sum << 31 | sum >> 33) ^ word) * HASH_FACTOR;
}

/* Four sums at a time, none of which waits for another: this is much of what reading takes. */
static uint64_t checksum(const void *bytes, size_t size, uint64_t place)
{
    uint64_t sums[LANES], words[LANES], sum = hash_mix(place, size);
    size_t at = 0;

    for (size_t i = 0; i < LANES; i++)
        sums[i] = sum + i;
    for (; size - at >= sizeof(words); at += sizeof(words)) {
        memcpy(words, (const char *)bytes + at, sizeof(words));
        for (size_t i = 0; i < LANES; i++)
            sums[i] = mix_word(sums[i], words[i]);
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
    free(p->held);
    free(p->room);
    free(p->checks);
    if (p->fd >= 0)
        close(p->fd);
    *p = (struct sealed){.fd = -1};
}

static void hold_none(struct sealed *p)
{
    p->room = memory_resize(NULL, (size_t)SETS * WAYS * PAGE); /* touched only as it fills */
    p->held = memory_resize(NULL, SETS * WAYS * sizeof(*p->held));
    for (size_t i = 0; i < SETS * WAYS; i++)
        p->held[i] = (struct sealed_held){NO_PAGE, p->room + i * PAGE};
}

static bool load(struct sealed *p, struct sealed_held *h, size_t page)
{
    size_t size = page_bytes(p->bytes, page);
    bool good = read_at(p->fd, h->bytes, size, p->body + (uint64_t)page * PAGE) &&
                checksum(h->bytes, size, page) == p->checks[page];

    h->page = good ? page : NO_PAGE;
    return good;
}

static const unsigned char *page_at(struct sealed *p, size_t page)
{
    struct sealed_held *set, found;
    size_t i = 0;

    if (!p->held)
        hold_none(p);
    set = p->held + page % SETS * WAYS;
    while (i < WAYS - 1 && set[i].page != page)
        i++;
    if (set[i].page != page && !load(p, &set[i], page))
        return NULL;
    found = set[i];
    for (; i > 0; i--)
        set[i] = set[i - 1];
    set[0] = found;
    return found.bytes;
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
