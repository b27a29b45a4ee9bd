/* both_sizes SIZE ROUNDS [LIBRARY] - blocks of at least SIZE and smaller ones, in every way to get
 * one: in the main thread, two more threads and a child, after LIBRARY was loaded. Each way is a
 * function of its own, and says on standard error what it has asked for: its name, the blocks of at
 * least SIZE and their bytes, the smaller ones and theirs, and the bytes of large ones that it
 * kept.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t limit;
static int rounds;

struct sums {
    size_t large, large_bytes, small, small_bytes, kept;
};

static void add(struct sums *s, size_t size)
{
    if (size >= limit) {
        s->large++;
        s->large_bytes += size;
    } else {
        s->small++;
        s->small_bytes += size;
    }
}

static void say(const char *name, const struct sums *s)
{
    char text[200];
    int bytes = snprintf(text, sizeof(text), "%s %zu %zu %zu %zu %zu\n", name, s->large,
                         s->large_bytes, s->small, s->small_bytes, s->kept);

    if (write(2, text, (size_t)bytes) != bytes)
        _exit(1);
}

static __thread void *volatile held;

/* Around the limit on both sides; every tenth large one is kept. */
static size_t size_of(int i)
{
    return i % 3 == 0 ? limit - 1 - (size_t)(i % 100)
         : i % 3 == 1 ? limit + (size_t)(i % 1000)
                      : 64;
}

static void finish(struct sums *s, int i, size_t size)
{
    if (size >= limit && i % 10 == 0)
        s->kept += size;
    else
        free(held);
}

__attribute__((noinline)) static void by_malloc(struct sums *s)
{
    for (int i = 0; i < rounds; i++) {
        size_t size = size_of(i);

        held = malloc(size);
        add(s, size);
        finish(s, i, size);
    }
}

__attribute__((noinline)) static void by_calloc(struct sums *s)
{
    for (int i = 0; i < rounds; i++) {
        size_t size = size_of(i) & ~(size_t)7;

        held = calloc(size / 8, 8);
        add(s, size);
        finish(s, i, size);
    }
}

__attribute__((noinline)) static void by_memalign(struct sums *s)
{
    for (int i = 0; i < rounds; i++) {
        size_t size = size_of(i);

        held = memalign(64, size);
        add(s, size);
        finish(s, i, size);
    }
}

/* Across the limit in both directions, and along each side. */
__attribute__((noinline)) static void by_realloc(struct sums *s)
{
    size_t steps[] = {16, limit - 1, limit, limit * 3, limit - 1, 100, limit + 5, limit + 4};

    for (int i = 0; i < rounds; i++) {
        size_t size = 0;

        held = NULL;
        for (size_t k = 0; k < sizeof(steps) / sizeof(*steps); k++) {
            size = steps[k];
            held = realloc(held, size);
            add(s, size);
        }
        finish(s, i, size);
    }
}

static void *in_thread(void *name)
{
    struct sums s = {0};

    by_malloc(&s);
    by_calloc(&s);
    say(name, &s);
    return NULL;
}

static void fork_one(void)
{
    struct sums s = {0};
    int status = 1, pid = fork();

    if (pid == 0) {
        by_memalign(&s);
        say("child", &s);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
        _exit(1);
}

int main(int argc, char **argv)
{
    void (*const ways[])(struct sums *) = {by_malloc, by_calloc, by_memalign, by_realloc};
    pthread_t one, two;
    struct sums s = {0};

    limit = argc > 2 ? strtoul(argv[1], NULL, 10) : 4096;
    rounds = argc > 2 ? atoi(argv[2]) : 1000;
    if (argc > 3 && !dlopen(argv[3], RTLD_NOW))
        return 2;
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        ways[i](&s);
    say("main", &s);
    if (pthread_create(&one, NULL, in_thread, "one") ||
        pthread_create(&two, NULL, in_thread, "two"))
        return 1;
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    fork_one();
    return 0;
}
