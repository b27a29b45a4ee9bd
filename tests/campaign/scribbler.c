/* scribbler - a recorded program that writes into the memory it shares with the recorder what it
 * likes: scribbler LOG HOW SEED MILLISECONDS. It harms nobody else; the recorder must survive it.
 *   noise      any words over the control page, the slots and the first rings
 *   records    first words that look right, with lengths and numbers that lie
 *   pids       slots that claim to be other processes
 *   tick       the recorder's clock, at both ends
 *   truncate   the file's size
 */
#include "truth.h"

#include "trace/ring.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RINGS 8 /* of those that are scribbled over */
#define RING_BYTES (RING_WORDS * 8ull)

static uint64_t dice;
static int fd = -1;
static char *memory;

static uint64_t roll(void)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return dice >> 16 ^ dice << 40;
}

/* The shared memory among the descriptors of a process; -1: it is not there. */
static int find_memory(const char *folder)
{
    DIR *dir = opendir(folder);
    char path[512], link[256];
    int found = -1;

    for (struct dirent *e; dir && found < 0 && (e = readdir(dir));) {
        ssize_t n;

        snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
        n = readlink(path, link, sizeof(link) - 1);
        if (n > 0 && memmem(link, (size_t)n, "memfd:" RING_NAME, strlen("memfd:" RING_NAME)))
            found = open(path, O_RDWR | O_CLOEXEC);
    }
    if (dir)
        closedir(dir);
    return found;
}

static uint64_t *ring_word(void)
{
    uint64_t ring = roll() % RINGS, at = roll() % 3 ? roll() % 512 : roll() % RING_WORDS;

    return (uint64_t *)(memory + RING_RINGS_OFFSET + ring * RING_BYTES) + at;
}

static struct ring_slot *any_slot(void)
{
    return (struct ring_slot *)(memory + RING_SLOTS_OFFSET) + roll() % RINGS;
}

static void write_noise(void)
{
    uint64_t word = roll() % 4 ? roll() : roll() % 64;

    switch (roll() % 8) {
    case 0:
        ((uint64_t *)memory)[roll() % 512] = word;
        break;
    case 1:
        ((uint64_t *)(memory + RING_SLOTS_OFFSET))[roll() % (RINGS * 24)] = word;
        break;
    default:
        *ring_word() = word;
    }
}

static void write_record(void)
{
    uint64_t *w = ring_word(), kind = 1 + roll() % RING_KIND_END;

    for (int i = 1; i < 6; i++)
        w[i] = roll() % 3 ? roll() % 70000 : roll();
    w[0] = roll() % 2 ? roll() % 100000 << 16 | kind : roll() << 5 | kind;
}

static void write_pid(void)
{
    struct ring_slot *s = any_slot();
    const uint32_t pids[] = {0, 1, (uint32_t)getppid(), (uint32_t)(roll() % 40000), UINT32_MAX};

    s->pid = pids[roll() % 5];
    s->process = (uint32_t)(roll() % 20);
    s->state = RING_SLOT_CLAIMED;
}

static void write_tick(void)
{
    ((struct ring_control *)memory)->tick = roll() % 2 ? UINT64_MAX : roll() % 2;
}

static void truncate_it(void)
{
    if (ftruncate(fd, roll() % 2 ? 0 : (off_t)(roll() % (1u << 24))) == 0)
        usleep(1000);
}

static const struct {
    const char *how;
    void (*scribble)(void);
} ways[] = {
    {"noise", write_noise}, {"records", write_record}, {"pids", write_pid},
    {"tick", write_tick},   {"truncate", truncate_it},
};

static void *work(void *unused)
{
    (void)unused;
    truth_work(200000);
    return NULL;
}

static void scribble_for(void (*scribble)(void), uint64_t ms)
{
    struct timespec start, now;

    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        for (int i = 0; i < 50; i++)
            scribble();
        usleep(200);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((uint64_t)((now.tv_sec - start.tv_sec) * 1000 +
                        (now.tv_nsec - start.tv_nsec) / 1000000) < ms);
}

int main(int argc, char **argv)
{
    char folder[64];
    pthread_t thread;

    if (argc != 5)
        return 2;
    truth_open(argv[1]);
    dice = strtoull(argv[3], NULL, 10) * 2 + 1;
    snprintf(folder, sizeof(folder), "/proc/%d/fd", (int)getppid());
    fd = find_memory(folder);
    if (fd < 0)
        fd = find_memory("/proc/self/fd");
    memory = fd < 0 ? MAP_FAILED
                    : mmap(NULL, RING_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        puts("no memory of a recorder is here");
        return 0;
    }
    pthread_create(&thread, NULL, work, NULL);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        if (strcmp(argv[2], ways[i].how) == 0)
            scribble_for(ways[i].scribble, strtoull(argv[4], NULL, 10));
    return 0;
}
