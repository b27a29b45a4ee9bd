#include "truth.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HELD 64
#define THREADS_MOST 64

struct truth_log *truth;
const char *truth_path;
static __thread struct truth_book *book;
static __thread uint64_t dice;

void truth_open(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    truth = fd < 0 ? MAP_FAILED
                   : mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (truth == MAP_FAILED) {
        perror(path);
        _exit(99);
    }
    close(fd);
    truth_path = path;
}

void truth_forked(void)
{
    book = NULL;
}

static void open_book(void)
{
    uint64_t n = __atomic_fetch_add(&truth->books, 1, __ATOMIC_SEQ_CST);

    book = &truth->book[n % TRUTH_BOOKS];
    book->pid = (uint64_t)getpid();
    dice = n * 0x9e3779b97f4a7c15u + 1;
}

static uint32_t roll(uint32_t sides)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(dice >> 33) % sides;
}

static void note(uint64_t *counter, uint64_t by)
{
    __atomic_store_n(counter, *counter + by, __ATOMIC_SEQ_CST);
}

/* The sides of a call: what is noted before it and after it. */
static void begin_alloc(size_t bytes)
{
    note(&book->bytes_begun, bytes);
    note(&book->allocs_begun, 1);
}

static void end_alloc(size_t bytes)
{
    note(&book->allocs_done, 1);
    note(&book->bytes_done, bytes);
}

static void *allocate(size_t bytes)
{
    void *volatile p = NULL;

    begin_alloc(bytes);
    switch (roll(4)) {
    case 0:
        p = calloc(1, bytes);
        break;
    case 1:
        if (posix_memalign((void **)&p, 64, bytes) != 0)
            p = NULL;
        break;
    default:
        p = malloc(bytes);
    }
    if (p) /* one that failed made nothing */
        end_alloc(bytes);
    return p;
}

static void release(void *p)
{
    note(&book->frees_begun, 1);
    free(p);
    note(&book->frees_done, 1);
}

static void *change(void *p, size_t bytes)
{
    void *changed;

    note(&book->frees_begun, 1);
    begin_alloc(bytes);
    changed = realloc(p, bytes);
    if (!changed)
        return p;
    end_alloc(bytes);
    note(&book->frees_done, 1);
    return changed;
}

void truth_work(uint64_t calls)
{
    void *held[HELD] = {0};

    if (!book)
        open_book();
    __atomic_store_n(&truth->started, 1, __ATOMIC_SEQ_CST);
    for (uint64_t i = 0; i < calls && !__atomic_load_n(&truth->stop, __ATOMIC_RELAXED); i++) {
        void **p = &held[roll(HELD)];
        size_t bytes = TRUTH_LEAST + roll(TRUTH_MOST - TRUTH_LEAST + 1);

        if (!*p) {
            *p = allocate(bytes);
        } else if (roll(3) == 0) {
            *p = change(*p, bytes);
        } else {
            release(*p);
            *p = NULL;
        }
    }
}

static void *thread_main(void *calls)
{
    truth_work(*(uint64_t *)calls);
    return NULL;
}

void truth_work_in_threads(unsigned int threads, uint64_t calls)
{
    static pthread_t all[THREADS_MOST];
    unsigned int begun = 0;

    while (begun < threads && begun < THREADS_MOST &&
           pthread_create(&all[begun], NULL, thread_main, &calls) == 0)
        begun++;
    for (unsigned int i = 0; i < begun; i++)
        pthread_join(all[i], NULL);
    if (begun < threads)
        truth_work(calls);
}
