/* mapped - see mapped.h. The handler finds the file by the address, so the files are in a small
 * table.
 */
#include "trace/mapped.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILES_MOST 8

struct mapped {
    char *bytes; /* NULL: free */
    size_t size;
    volatile sig_atomic_t cut;
};

static struct mapped files[FILES_MOST];
static size_t page;

/* Only calls that a handler may make; mmap is one in fact. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)info->si_addr;

    (void)context;
    for (int i = 0; i < FILES_MOST; i++) {
        struct mapped *m = &files[i];
        char *gone = (char *)(at & ~(page - 1));
        size_t rest; /* all behind it is gone as well, and there is a limit of mappings */

        if (!m->bytes || at < (uintptr_t)m->bytes || at - (uintptr_t)m->bytes >= m->size)
            continue;
        rest = (size_t)(m->bytes + m->size - gone);
        if (mmap(gone, rest, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == gone) {
            m->cut = 1;
            return;
        }
    }
    signal(number, SIG_DFL); /* a fault of our own: it happens again, and ends the tool */
}

static void install(void)
{
    struct sigaction mine = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigset_t fault;

    page = (size_t)sysconf(_SC_PAGESIZE);
    sigemptyset(&fault);
    sigaddset(&fault, SIGBUS);
    sigaction(SIGBUS, &mine, NULL);
    sigprocmask(SIG_UNBLOCK, &fault, NULL); /* a recorder blocks all; this one cannot wait */
}

struct mapped *mapped_open(int fd, size_t size)
{
    struct mapped *m = files;
    void *bytes;

    while (m < files + FILES_MOST && m->bytes)
        m++;
    if (m == files + FILES_MOST) {
        errno = EMFILE;
        return NULL;
    }
    install();
    bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return NULL;
    *m = (struct mapped){.bytes = bytes, .size = size};
    return m;
}

const void *mapped_bytes(const struct mapped *m)
{
    return m->bytes;
}

bool mapped_is_cut(const struct mapped *m)
{
    return m->cut;
}

void mapped_close(struct mapped *m)
{
    if (!m)
        return;
    munmap(m->bytes, m->size);
    m->bytes = NULL;
}
