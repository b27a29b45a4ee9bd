/* oddities - uses memory in the way that its argument names, and then waits a while:
 *   clean        20 000 blocks that live together and are all freed
 *   leaky        the same, and one in four is never freed
 *   churning     each of them is freed before the next
 *   thrashing    large blocks, each of which is mapped and unmapped
 *   relay        thirty processes, one after the other, each of which uses 16 MiB once
 *   fragmented   one block in 64 is kept, the others are freed: no page can be given back
 *   stacks       4 threads that have used 1 MiB of their stacks
 *   heap, maps   in all places: 2 MiB of bss, 1 of a file's private and 3 of its shared pages, 1 of
 * the stack; of blocks 4 and of mappings 24 MiB, or the other way round
 */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS 20000
#define PIECES 65536
#define USED (1 << 20)
#define MIB (1 << 20)

static char *blocks[PIECES];
static pthread_barrier_t all_there, all_done;

static void hold(int count, size_t bytes)
{
    for (int i = 0; i < count; i++) {
        blocks[i] = malloc(bytes);
        memset(blocks[i], 1, bytes);
    }
}

static void release(int count, int but)
{
    for (int i = 0; i < count; i++)
        if (!but || i % but)
            free(blocks[i]);
}

static void churn(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        *(char *volatile *)blocks = malloc(1000);
        free(blocks[0]);
    }
}

static void thrash(void)
{
    mallopt(M_MMAP_THRESHOLD, 128 << 10); /* else it would learn */
    for (int i = 0; i < 600; i++) {
        hold(1, 1 << 20);
        release(1, 0);
    }
}

static void relay(void)
{
    for (int i = 0; i < 30; i++) {
        pid_t child = fork();

        if (child == 0) {
            hold(16, 1 << 20);
            release(16, 0);
            exit(0);
        }
        waitpid(child, NULL, 0);
    }
}

static void *use_stack(void *unused)
{
    char used[USED];

    memset(used, 1, sizeof(used));
    __asm__ volatile("" : : "r"(used) : "memory");
    pthread_barrier_wait(&all_there);
    pthread_barrier_wait(&all_done);
    return unused;
}

static void use_stacks(void)
{
    pthread_t threads[4];

    pthread_barrier_init(&all_there, NULL, 5);
    pthread_barrier_init(&all_done, NULL, 5);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, use_stack, NULL);
    pthread_barrier_wait(&all_there);
    usleep(2500000);
    pthread_barrier_wait(&all_done);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void *map(size_t mib, int flags, int fd)
{
    void *p = mmap(NULL, mib * MIB, PROT_READ | PROT_WRITE, flags, fd, 0);

    if (p == MAP_FAILED)
        abort();
    return memset(p, 1, mib * MIB);
}

static __attribute__((noinline)) void use_places(int blocks_mib, int maps_mib)
{
    static char bss[2 * MIB];
    char used[MIB];
    FILE *file = tmpfile();

    if (!file || ftruncate(fileno(file), 4 * MIB) != 0)
        abort();
    memset(bss, 1, sizeof(bss));
    memset(used, 1, sizeof(used));
    map(3, MAP_SHARED, fileno(file));
    map(1, MAP_PRIVATE, fileno(file));
    map((size_t)maps_mib, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    hold(blocks_mib * 16, MIB / 16 - 16);
    __asm__ volatile("" : : "r"(used), "r"(bss) : "memory");
    usleep(2500000);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    if (!strcmp(how, "clean") || !strcmp(how, "leaky")) {
        hold(BLOCKS, 1000);
        release(BLOCKS, *how == 'l' ? 4 : 0);
    } else if (!strcmp(how, "churning")) {
        churn();
    } else if (!strcmp(how, "thrashing")) {
        thrash();
    } else if (!strcmp(how, "relay")) {
        relay();
    } else if (!strcmp(how, "fragmented")) {
        hold(PIECES, 1000);
        release(PIECES, 64);
        usleep(2500000);
    } else if (!strcmp(how, "stacks")) {
        use_stacks();
    } else if (!strcmp(how, "heap")) {
        use_places(24, 4);
    } else if (!strcmp(how, "maps")) {
        use_places(4, 24);
    }
    return 0;
}
