/* residence - see residence.h. Stacks of threads are mappings like any other, and the kernel may have
 * joined them with their neighbours, so their pages are counted one by one.
 */
#include "watch/residence.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAPPINGS_MOST 2000
#define STACK_MOST (64ull << 20) /* a larger one is not looked through */
#define PRESENT (1ull << 63)     /* in a word of pagemap */

struct mapping {
    uint64_t start, end, inode, rss, anonymous; /* the last two: bytes */
    char name[64];                              /* its beginning */
    bool follows_data;                          /* it begins where private data of a file ends */
};

static bool begins(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

static bool is_shared(const struct mapping *m)
{
    return begins(m->name, "/memfd:") || begins(m->name, "/dev/shm/") ||
           begins(m->name, "/dev/zero") || begins(m->name, "/SYSV");
}

static void count(struct residence *sum, const struct mapping *m)
{
    uint64_t private = m->anonymous < m->rss ? m->anonymous : m->rss;

    if (!strcmp(m->name, "[heap]")) {
        sum->heap += m->rss;
    } else if (!strcmp(m->name, "[stack]")) {
        sum->stack += m->rss;
    } else if (m->inode) {
        sum->data += private;
        *(is_shared(m) ? &sum->shared : &sum->file) += m->rss - private;
    } else if (m->follows_data) {
        sum->data += m->rss;
    } else {
        sum->anon += m->rss;
    }
}

/* The first line of a mapping; false: another line. */
static bool parse_first(const char *line, struct mapping *m)
{
    struct mapping next = {0};
    char permissions[8];

    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %" SCNu64 " %63s", &next.start, &next.end,
               permissions, &next.inode, next.name) < 4)
        return false;
    next.follows_data = !next.inode && !next.name[0] && m->inode && m->end == next.start &&
                        permissions[1] == 'w' && permissions[3] == 'p';
    *m = next;
    return true;
}

static bool add_mappings(struct residence *sum, FILE *f)
{
    struct mapping m = {0};
    char *line = NULL;
    size_t room = 0;
    int mappings = 0;

    while (mappings <= MAPPINGS_MOST && getline(&line, &room, f) > 0) {
        struct mapping last = m;

        if (line[0] >= 'A' && line[0] <= 'Z') {
            if (begins(line, "Rss:"))
                m.rss = strtoull(line + 4, NULL, 10) * 1024;
            else if (begins(line, "Anonymous:"))
                m.anonymous = strtoull(line + 10, NULL, 10) * 1024;
        } else if (parse_first(line, &m)) {
            count(sum, &last);
            mappings++;
        }
    }
    count(sum, &m);
    free(line);
    return mappings > 0 && mappings <= MAPPINGS_MOST;
}

static uint64_t pages_present(int pagemap, uint64_t low, uint64_t bytes, uint64_t page)
{
    uint64_t words[512], at = low / page, end = (low + bytes) / page, pages = 0;

    while (at < end) {
        uint64_t want = end - at < 512 ? end - at : 512;
        ssize_t got = pread(pagemap, words, want * 8, (off_t)(at * 8));

        if (got < 8)
            break;
        for (ssize_t i = 0; i < got / 8; i++)
            pages += (words[i] & PRESENT) != 0;
        at += (uint64_t)got / 8;
    }
    return pages;
}

static void add_stacks(struct residence *sum, int pagemap, const struct residence_stack *stacks,
                       size_t count)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bytes;

    for (size_t i = 0; i < count; i++) {
        if (stacks[i].bytes > STACK_MOST)
            continue;
        bytes = pages_present(pagemap, stacks[i].low, stacks[i].bytes, page) * page;
        if (bytes > sum->anon)
            bytes = sum->anon;
        sum->stack += bytes;
        sum->anon -= bytes;
    }
}

bool residence_add(struct residence *sum, int pid, const struct residence_stack *stacks,
                   size_t count)
{
    char path[32];
    FILE *f;
    int pagemap;
    bool read;

    snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
    f = fopen(path, "re");
    if (!f)
        return false;
    read = add_mappings(sum, f);
    fclose(f);
    if (!read || !count)
        return read;
    snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
    pagemap = open(path, O_RDONLY | O_CLOEXEC);
    if (pagemap < 0)
        return false;
    add_stacks(sum, pagemap, stacks, count);
    close(pagemap);
    return true;
}
