/* linux_residence - what resident memory consists of: see platform.h.
 *
 * The kernel counts what is anonymous, of files and shared. To tell where anonymous pages are,
 * pages must be looked at one by one, which takes long where they are many, and the process may
 * wait meanwhile. So only the small parts are looked at: stacks, data, and of [heap] and all else
 * the smaller one; the other is what remains.
 */
#include "platform/platform.h"

#include "base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAPPINGS_MOST 8000
#define WALK_MOST (1ull << 30)   /* addresses that are looked through */
#define STACK_MOST (64ull << 20) /* a larger one is not */
#define PRESENT (1ull << 63)     /* in a word of pagemap */
#define OF_FILE (1ull << 61)     /* or shared */

enum place { HEAP, STACK, DATA, ANON, PLACES };

struct mapping {
    uint64_t start, end, inode;
    char permissions[5];
    const char *name;
};

struct range {
    enum place place;
    uint64_t start, bytes;
};

struct look {
    int pagemap;
    uint64_t page, walked; /* walked: addresses */
    struct range *ranges;
    size_t count, room;
    uint64_t addresses[PLACES], found[PLACES]; /* found: bytes that are resident */
};

static bool parse(char *line, struct mapping *m)
{
    char *s;

    m->start = strtoull(line, &s, 16);
    if (*s++ != '-')
        return false;
    m->end = strtoull(s, &s, 16);
    if (*s++ != ' ' || strlen(s) < 6)
        return false;
    memcpy(m->permissions, s, 4);
    m->permissions[4] = '\0';
    s = strchr(s + 5, ' '); /* after the offset */
    s = s ? strchr(s + 1, ' ') : NULL;
    if (!s)
        return false;
    m->inode = strtoull(s, &s, 10);
    s += strspn(s, " ");
    s[strcspn(s, "\n")] = '\0';
    m->name = s;
    return true;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static uint64_t pages_present(struct look *l, uint64_t low, uint64_t bytes)
{
    uint64_t words[512], at = low / l->page, end = (low + bytes) / l->page, pages = 0;

    l->walked += bytes;
    while (at < end && l->walked <= WALK_MOST) {
        uint64_t want = end - at < 512 ? end - at : 512;
        ssize_t got = pread(l->pagemap, words, want * 8, (off_t)(at * 8));

        if (got < 8)
            break;
        for (ssize_t i = 0; i < got / 8; i++)
            pages += (words[i] & (PRESENT | OF_FILE)) == PRESENT;
        at += (uint64_t)got / 8;
    }
    return pages * l->page;
}

static bool is_data(const struct mapping *m)
{
    return m->inode && m->permissions[3] == 'p' && m->permissions[1] == 'w';
}

/* Anonymous pages of which kind are in there, given the mapping before? */
static enum place place_of(const struct mapping *m, bool follows_data)
{
    if (m->inode)
        return is_data(m) ? DATA : PLACES;
    if (!strcmp(m->name, "[heap]"))
        return HEAP;
    if (!strcmp(m->name, "[stack]"))
        return STACK;
    if (m->name[0] == '[' && m->name[1] == 'v') /* of the kernel */
        return PLACES;
    return follows_data && !m->name[0] && m->permissions[1] == 'w' ? DATA : ANON;
}

static void add_range(struct look *l, enum place place, uint64_t start, uint64_t end)
{
    memory_fit(l->ranges, l->room, l->count + 1);
    l->ranges[l->count++] = (struct range){place, start, end - start};
    l->addresses[place] += end - start;
}

/* What is before data, and only readable, was data until the loader was done with it. */
static bool read_ranges(struct look *l, FILE *f)
{
    struct mapping m = {0}, last;
    bool was_data = false, was_readable = false;
    char *line = NULL;
    size_t room = 0;
    int mappings = 0;

    for (; last = m, mappings <= MAPPINGS_MOST && getline(&line, &room, f) > 0; mappings++) {
        bool adjoins, data;
        enum place place;

        if (!parse(line, &m))
            break;
        adjoins = m.start == last.end;
        data = is_data(&m);
        place = place_of(&m, was_data && adjoins);
        if (data && was_readable && adjoins && m.inode == last.inode)
            add_range(l, DATA, last.start, last.end);
        if (place != PLACES && memcmp(m.permissions, "---", 3) != 0)
            add_range(l, place, m.start, m.end);
        was_data = data;
        was_readable = m.inode && !memcmp(m.permissions, "r--p", 4);
    }
    free(line);
    return mappings > 0 && mappings <= MAPPINGS_MOST;
}

/* Stacks of threads are mappings like any other, and the kernel may have joined them with their
 * neighbours.
 */
static uint64_t stacks_of_threads(struct look *l, const struct residence_stack *stacks,
                                  size_t count)
{
    uint64_t all = 0;

    for (size_t i = 0; i < count; i++) {
        if (stacks[i].bytes <= STACK_MOST)
            all += pages_present(l, stacks[i].low, stacks[i].bytes);
    }
    return all;
}

/* Stacks of threads are among what is ANON here. */
static void look_through(struct look *l, uint64_t anonymous)
{
    enum place larger = l->addresses[HEAP] > l->addresses[ANON] ? HEAP : ANON;
    uint64_t rest = anonymous;

    for (size_t i = 0; i < l->count; i++) {
        const struct range *r = &l->ranges[i];

        if (r->place != larger)
            l->found[r->place] += pages_present(l, r->start, r->bytes);
    }
    for (int i = 0; i < PLACES; i++)
        rest = less(rest, l->found[i]);
    l->found[larger] = rest;
}

static bool look(struct look *l, int pid, uint64_t anonymous, const struct residence_stack *stacks,
                 size_t count)
{
    uint64_t threads;
    char path[32];
    FILE *f;
    bool read;

    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    f = fopen(path, "re");
    if (!f)
        return false;
    read = read_ranges(l, f);
    fclose(f);
    look_through(l, anonymous);
    free(l->ranges);
    threads = stacks_of_threads(l, stacks, count);
    if (threads > l->found[ANON])
        threads = l->found[ANON];
    l->found[STACK] += threads;
    l->found[ANON] -= threads;
    return read && l->walked <= WALK_MOST;
}

bool residence_add(struct residence *sum, int pid, const struct proc_reading *now,
                   const struct residence_stack *stacks, size_t count)
{
    struct look l = {.page = (uint64_t)sysconf(_SC_PAGESIZE)};
    char path[32];
    bool read;

    if (now->rss_anon == ABSENT || now->rss_file == ABSENT || now->rss_shmem == ABSENT)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
    l.pagemap = open(path, O_RDONLY | O_CLOEXEC);
    if (l.pagemap < 0)
        return false;
    read = look(&l, pid, now->rss_anon, stacks, count);
    close(l.pagemap);
    sum->heap += l.found[HEAP];
    sum->stack += l.found[STACK];
    sum->data += l.found[DATA];
    sum->anon += l.found[ANON];
    sum->file += now->rss_file;
    sum->shared += now->rss_shmem;
    return read;
}
