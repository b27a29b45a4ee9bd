/* guard_check - see guard_check.h. */
#include "inject/guard_check.h"

#include "inject/state.h"
#include "inject/sys.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

static _Atomic bool steps;

/* ---- files of text, line by line ---- */

struct lines {
    long fd;
    size_t at, have;
    char text[4096];
};

static bool lines_open(struct lines *l, const char *path)
{
    *l = (struct lines){
        .fd = sys_call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0)};
    return !sys_failed(l->fd);
}

static void lines_close(const struct lines *l)
{
    sys_call(SYS_close, l->fd, 0, 0, 0, 0, 0);
}

static size_t more(struct lines *l)
{
    long got;

    memmove(l->text, l->text + l->at, l->have - l->at);
    l->have -= l->at;
    l->at = 0;
    got = sys_call(SYS_read, l->fd, (long)(l->text + l->have),
                   (long)(sizeof(l->text) - 1 - l->have), 0, 0, 0);
    if (!sys_failed(got))
        l->have += (size_t)got;
    l->text[l->have] = '\0';
    return sys_failed(got) ? 0 : (size_t)got;
}

/* The next line, without its end; NULL: there are no more. One that is too long comes in pieces. */
static char *lines_next(struct lines *l)
{
    for (;;) {
        char *line = l->text + l->at, *end;

        l->text[l->have] = '\0';
        end = strchr(line, '\n');
        if (end) {
            *end = '\0';
            l->at = (size_t)(end + 1 - l->text);
            return line;
        }
        if (!more(l)) {
            line = l->at < l->have ? l->text + l->at : NULL;
            l->at = l->have;
            return line;
        }
    }
}

static uint64_t hex(const char **text)
{
    uint64_t value = 0;

    for (;; (*text)++) {
        unsigned int c = (unsigned char)**text, digit = c - '0';

        digit = digit < 10 ? digit : (c | 32u) - 'a' < 6 ? (c | 32u) - 'a' + 10 : 16;
        if (digit > 15)
            return value;
        value = value << 4 | digit;
    }
}

/* ---- the pages ---- */

/* One line of the maps: what part of [*low, high) it covers is done with. */
static enum ring_why take_map(const char *line, uintptr_t *low, uintptr_t high, int *rights)
{
    uintptr_t start = hex(&line), end = (line += *line == '-', hex(&line));
    int has = PROT_READ | PROT_WRITE;

    if (end <= *low || start >= high)
        return RING_WHY_KEPT;
    if (start > *low || strncmp(line, " rw", 3) != 0)
        return RING_WHY_READ_ONLY;
    has |= line[3] == 'x' ? PROT_EXEC : 0;
    if (strchr(line, '[') && !strncmp(strchr(line, '['), "[stack", 6))
        return RING_WHY_STACK;
    if (*rights && *rights != has)
        return RING_WHY_READ_ONLY;
    *rights = has;
    *low = end;
    return RING_WHY_KEPT;
}

static enum ring_why check_maps(uintptr_t low, uintptr_t high, int *rights)
{
    enum ring_why no = RING_WHY_KEPT;
    struct lines l;

    *rights = 0;
    if (!lines_open(&l, "/proc/self/maps"))
        return RING_WHY_KERNEL;
    while (!no && low < high) {
        const char *line = lines_next(&l);

        if (!line)
            break;
        no = take_map(line, &low, high, rights);
    }
    lines_close(&l);
    return no ? no : low < high ? RING_WHY_READ_ONLY : RING_WHY_KEPT;
}

/* Signals are put on stacks by the kernel, which would end the program if it cannot. */
static bool is_stack(uintptr_t low, uintptr_t high)
{
    for (const struct thread *t = atomic_load(&process.threads); t; t = t->next)
        if (low < t->stack_high && t->stack_low < high)
            return true;
    return false;
}

/* ---- the threads and the descriptors ---- */

static bool ends(char *to, size_t room, const char *folder, const char *name, const char *file)
{
    size_t a = strlen(folder), b = strlen(name), c = strlen(file);

    if (a + b + c >= room)
        return false;
    memcpy(to, folder, a);
    memcpy(to + a, name, b);
    memcpy(to + a + b, file, c + 1);
    return true;
}

/* Every name in a folder, until `visit` refuses one. */
static enum ring_why for_names(const char *folder,
                               enum ring_why (*visit)(const char *folder, const char *name))
{
    long fd = sys_call(SYS_openat, AT_FDCWD, (long)folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, 0,
                       0);
    enum ring_why no = RING_WHY_KEPT;
    _Alignas(8) char entries[2048] = {0};
    long got = 0;

    if (sys_failed(fd))
        return RING_WHY_KERNEL;
    while (!no && (got = sys_call(SYS_getdents64, fd, (long)entries, sizeof(entries), 0, 0, 0)) > 0)
        for (long at = 0; !no && at < got;) {
            uint16_t bytes; /* of the entry; its name follows it and its type */

            memcpy(&bytes, entries + at + 16, sizeof(bytes));
            if (entries[at + 19] != '.')
                no = visit(folder, entries + at + 19);
            at += bytes;
        }
    sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
    return no ? no : got < 0 ? RING_WHY_KERNEL : RING_WHY_KEPT;
}

static enum ring_why check_status(const char *line)
{
    const char *mask = line + 7;
    uint64_t blocked;

    if (!strncmp(line, "TracerPid:\t", 11) && strcmp(line + 11, "0") != 0)
        atomic_store(&steps, false);
    if (strncmp(line, "SigBlk:", 7) != 0)
        return RING_WHY_KEPT;
    mask += *mask == '\t';
    blocked = hex(&mask);
    if (blocked >> (SIGTRAP - 1) & 1)
        atomic_store(&steps, false);
    return blocked >> (SIGSEGV - 1) & 1 ? RING_WHY_MASKED : RING_WHY_KEPT;
}

static enum ring_why check_thread(const char *folder, const char *name)
{
    enum ring_why no = RING_WHY_KEPT;
    const char *line;
    struct lines l;
    char path[64];

    if (!ends(path, sizeof(path), folder, name, "/status") || !lines_open(&l, path))
        return RING_WHY_KEPT; /* it has just ended */
    while (!no && (line = lines_next(&l)))
        no = check_status(line);
    lines_close(&l);
    return no;
}

static enum ring_why check_descriptor(const char *folder, const char *name)
{
    char path[64], to[64] = "";

    if (!ends(path, sizeof(path), folder, name, ""))
        return RING_WHY_KEPT;
    sys_call(SYS_readlinkat, AT_FDCWD, (long)path, (long)to, sizeof(to) - 1, 0, 0);
    return strcmp(to, "anon_inode:[io_uring]") ? RING_WHY_KEPT : RING_WHY_RING;
}

enum ring_why guard_check(uintptr_t low, uintptr_t high, int *rights)
{
    enum ring_why no;

    if (sys_silent || sys_narrow)
        return RING_WHY_KERNEL;
    if (is_stack(low, high))
        return RING_WHY_STACK;
    atomic_store(&steps, true);
    no = check_maps(low, high, rights);
    if (!no)
        no = for_names("/proc/self/task/", check_thread);
    if (!no)
        no = for_names("/proc/self/fd/", check_descriptor);
    return no;
}

bool guard_check_steps(void)
{
    return atomic_load(&steps);
}
