/* scribbler HOW: a recorded program that means harm to whoever records it, by the memory that they
 * share. It finds that as our library does. Says "fine" in the end.
 */
#include "trace/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 1000

static int memory;
static struct ring_control *control;
static struct ring_slot *slots;
static void *volatile kept;
static uint64_t seed = 88172645463325252ull;

static uint64_t chance(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static void open_memory(void)
{
    memory = open(getenv(RING_ENV), O_RDWR);
    control = mmap(NULL, RING_RINGS_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (memory < 0 || control == MAP_FAILED)
        abort();
    slots = (struct ring_slot *)((char *)control + RING_SLOTS_OFFSET);
}

static uint64_t *ring(uint32_t slot)
{
    uint64_t *at = mmap(NULL, RING_WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, memory,
                        (off_t)(RING_RINGS_OFFSET + (uint64_t)slot * RING_WORDS * 8));

    if (at == MAP_FAILED)
        abort();
    return at;
}

static void allocate(void)
{
    for (int i = 0; i < BLOCKS; i++)
        kept = malloc(64);
}

static void nap(void)
{
    usleep(30000); /* some looks of the collector */
}

/* ---- to cut the memory off under its reader ---- */

static void cut(void)
{
    if (ftruncate(memory, 0) == 0 || ftruncate(memory, 1ll << 40) == 0)
        printf("cut\n");
    nap();
    allocate();
}

/* ---- a clock that is beyond all time, and a mode that there is not ---- */

static void clock_and_mode(void)
{
    for (int i = 0; i < 20; i++) {
        atomic_store(&control->tick, UINT64_MAX);
        control->origin_ns = chance();
        control->wants = UINT32_MAX;
        nap();
    }
    control->origin_ns = 0;
    allocate();
}

/* ---- to be somebody else ---- */

static void claim(uint32_t slot, uint32_t number, uint32_t pid)
{
    static const char name[] = "/bin/liar";
    struct stat st = {0};
    uint64_t *words = ring(slot);

    stat("/proc/self/ns/pid", &st);
    words[1] = RING_PROCESS;
    words[2] = (uint64_t)pid << 32 | number;
    words[3] = 0;
    words[4] = sizeof(name);
    words[5] = st.st_ino;
    memcpy(&words[6], name, sizeof(name));
    atomic_store((_Atomic uint64_t *)words, 1u << 5 | RING_TICK);
    slots[slot].process = number;
    slots[slot].pid = pid;
    atomic_fetch_and(&control->free_slots[slot / 64], ~(1ull << (slot % 64)));
    atomic_store(&slots[slot].state, RING_SLOT_CLAIMED);
}

/* A child goes on allocating while its pid is used by another. */
static void impostor(void)
{
    int hold[2];
    pid_t victim;
    char c;

    if (pipe(hold))
        abort();
    victim = fork();
    if (!victim) {
        close(hold[1]);
        allocate();
        (void)!read(hold[0], &c, 1);
        allocate();
        _exit(0);
    }
    nap();
    claim(300, atomic_fetch_add(&control->next_process, 1), (uint32_t)victim);
    nap();
    nap();
    close(hold[1]);
    waitpid(victim, NULL, 0);
}

/* The first process of the machine is none of ours. */
static void first(void)
{
    claim(300, atomic_fetch_add(&control->next_process, 1), 1);
    for (int i = 0; i < 5; i++)
        nap();
    allocate();
}

/* ---- words of every kind, whose lengths lie, in rings of anybody, changed while they are read
 * ---- */

static _Atomic bool stop;

static void *rewrite(void *words)
{
    while (!atomic_load(&stop))
        ((_Atomic uint64_t *)words)[chance() % 4096] = chance() >> chance() % 64;
    return NULL;
}

static void scribble(uint32_t slot)
{
    uint64_t *words = ring(slot);
    pthread_t other;

    for (int i = 0; i < 4096; i++)
        words[i] = (chance() >> chance() % 60) << 5 | chance() % 32;
    claim(slot, (uint32_t)(chance() % 8), chance() % 2 ? (uint32_t)getpid() : (uint32_t)chance());
    atomic_store(&stop, false);
    pthread_create(&other, NULL, rewrite, words);
    usleep(3000);
    atomic_store(&stop, true);
    pthread_join(other, NULL);
    munmap(words, RING_WORDS * 8);
}

static void words(void)
{
    for (uint32_t i = 0; i < 60; i++) {
        pid_t child = i % 3 ? -1 : fork();

        if (child > 0) {
            waitpid(child, NULL, 0);
            continue;
        }
        scribble(400 + i);
        if (!child)
            _exit(0);
    }
    /* Rings for processes that have ended, which once made the collector write to nowhere. */
    for (uint32_t i = 0; i < 30; i++) {
        pid_t child = fork();

        if (!child) {
            claim(600 + i, 5000 + i, (uint32_t)getpid());
            nap();
            _exit(0);
        }
        waitpid(child, NULL, 0);
        nap();
        claim(700 + i, 5000 + i, (uint32_t)child);
        nap();
    }
}

/* ---- records that make the reader search ---- */

static void fill(uint64_t (*word)(uint64_t i), uint64_t each)
{
    uint64_t *at = ring(500);

    claim(500, 4000, (uint32_t)getpid());
    nap();
    for (int lap = 0; lap < 40; lap++) {
        uint64_t from = 8 + 4096 * (uint64_t)lap % (RING_WORDS / 2);

        for (uint64_t i = 0; i < 3000; i++)
            for (uint64_t k = 0; k < each; k++)
                atomic_store((_Atomic uint64_t *)&at[(from + i * each + k) % (RING_WORDS - 8)],
                             word(i * each + k));
    }
    nap();
}

static uint64_t unfreed(uint64_t i)
{
    return (0x10000 + i / 2) << 16 | (i % 2 ? RING_UNFREE : RING_FREE);
}

static uint64_t marks(uint64_t i)
{
    uint64_t number = i / 3;

    if (i % 3 == 0)
        return (uint64_t)(number % 5 ? RING_MARK_BEGIN : RING_MARK_FINISH) << 5 | RING_MARK;
    return i % 3 == 1 ? 1 + number : 0;
}

static void searches(void)
{
    fill(unfreed, 1);
    fill(marks, 3);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"cut", cut},     {"clock", clock_and_mode}, {"impostor", impostor},
                {"first", first}, {"words", words},          {"searches", searches}};

    open_memory();
    for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
        if (!strcmp(argv[1], ways[i].name))
            ways[i].run();
    puts("fine");
    return 0;
}
