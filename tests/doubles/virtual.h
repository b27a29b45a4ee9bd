/* virtual - accelerators that exist in a file, which VIRTUAL_DEVICE names: programs take memory of
 * them, and the doubles of vendors' libraries show it. Made with VIRTUAL_COUNT devices by whoever
 * comes first.
 */
#ifndef DOUBLES_VIRTUAL_H
#define DOUBLES_VIRTUAL_H

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define VIRTUAL_DEVICES 16
#define VIRTUAL_HOLDERS 256
#define VIRTUAL_TOTAL (8ull << 30)
#define VIRTUAL_RESERVED (300ull << 20)
#define VIRTUAL_BUSY 37u

struct virtual_device {
    struct virtual_holder {
        _Atomic int pid; /* 0: nobody */
        _Atomic uint64_t bytes;
    } holder[VIRTUAL_HOLDERS];
};

struct virtual_machine {
    _Atomic unsigned int asked; /* how often a library was asked who holds what of a device */
    _Atomic long reaped;        /* the second in which the dead were last looked for */
    struct virtual_device device[VIRTUAL_DEVICES];
};

/* NULL: there is none. */
static inline struct virtual_machine *virtual_machine(void)
{
    static struct virtual_machine *m;
    const char *path = getenv("VIRTUAL_DEVICE");
    int fd;

    if (m || !path)
        return m;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(*m)) < 0)
        return NULL;
    m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return m == MAP_FAILED ? (m = NULL) : m;
}

static inline unsigned int virtual_count(void)
{
    const char *count = getenv("VIRTUAL_COUNT");

    return count ? (unsigned int)atoi(count) % (VIRTUAL_DEVICES + 1) : 1;
}

/* Those that died without giving back. */
static inline void virtual_reap(struct virtual_machine *m)
{
    long now = (long)time(NULL), before = atomic_exchange(&m->reaped, now);

    for (int d = 0; now != before && d < VIRTUAL_DEVICES; d++)
        for (int i = 0; i < VIRTUAL_HOLDERS; i++)
            if (m->device[d].holder[i].pid && kill(m->device[d].holder[i].pid, 0) < 0)
                m->device[d].holder[i].pid = 0;
}

/* This process holds so many bytes from now on. */
static inline void virtual_hold(struct virtual_device *d, uint64_t bytes)
{
    int me = getpid();

    for (int i = 0; i < VIRTUAL_HOLDERS; i++)
        if (d->holder[i].pid == me) {
            d->holder[i].bytes = bytes;
            return;
        }
    for (int i = 0; i < VIRTUAL_HOLDERS; i++) {
        int nobody = 0;

        if (atomic_compare_exchange_strong(&d->holder[i].pid, &nobody, me)) {
            d->holder[i].bytes = bytes;
            return;
        }
    }
}

static inline uint64_t virtual_used(const struct virtual_device *d)
{
    uint64_t sum = 0;

    for (int i = 0; i < VIRTUAL_HOLDERS; i++)
        if (d->holder[i].pid)
            sum += d->holder[i].bytes;
    return sum;
}

/* Whoever asked this often has heard the first answers. */
static inline void virtual_wait_until_seen(struct virtual_machine *m)
{
    const struct timespec moment = {0, 5000000};
    unsigned int until = m->asked + 4 * 3 * (virtual_count() + 2); /* rounds, and lists of each */

    for (int i = 0; i < 50 * 200 && (int)(m->asked - until) < 0; i++)
        nanosleep(&moment, NULL);
}

/* Is this word in DOUBLE, which says how a library behaves? */
static inline int virtual_is(const char *word)
{
    const char *words = getenv("DOUBLE"), *at = words ? strstr(words, word) : NULL;

    return at && (at == words || at[-1] == ' ') &&
           (at[strlen(word)] == ' ' || at[strlen(word)] == '\0');
}

#endif
