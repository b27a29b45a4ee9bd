/* lost - blocks that something still points to when the program ends, in many ways, and such that
 * nothing does. Each kind has a size of its own.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct node {
    struct node *next;
    char rest[1000 - sizeof(void *)];
};

static void *volatile global;
static struct node *volatile list;
static char *volatile interior;
static volatile uintptr_t tagged;
static __thread void *volatile own;
static void *volatile *volatile mapped;
static int ready[2];

#define HIDDEN 0x5555000000000000ull

static void __attribute__((noinline)) keep(void)
{
    global = malloc(101);
    for (int i = 0; i < 20; i++) { /* 1000 bytes each, one points to the next */
        struct node *n = calloc(1, sizeof(*n));

        n->next = list;
        list = n;
    }
    interior = (char *)malloc(2002) + 777;
    tagged = (uintptr_t)malloc(3003) | 5;
    own = malloc(4004);
    mapped = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mapped[100] = malloc(5005);
}

static void __attribute__((noinline)) lose(void)
{
    static volatile uintptr_t hidden;
    struct node *cycle = calloc(1, 6006), *other = calloc(1, 6006);

    memset(malloc(7007), 1, 7007);
    cycle->next = other; /* each points to the other, nobody else to them */
    other->next = cycle;
    __asm__ volatile("" ::"r"(cycle) : "memory");
    hidden = (uintptr_t)malloc(8008) ^ HIDDEN; /* a pointer in disguise is none */
}

static void *sleep_on(void *unused)
{
    void *volatile on_stack = malloc(9009);
    char byte;

    (void)unused;
    own = malloc(9119);
    write(ready[1], "x", 1);
    pause();
    return read(0, &byte, 1) ? on_stack : NULL;
}

/* Old frames hold what was there before. */
static void __attribute__((noinline)) wipe(void)
{
    volatile char old[16384];

    for (size_t i = 0; i < sizeof(old); i++)
        old[i] = 0;
}

/* With `wait`: before all this, and after it, until there is input; then what was global is lost.
 */
static void wait_for_input(int argc, char byte)
{
    if (argc > 1) {
        write(1, &byte, 1);
        read(0, &byte, 1);
    }
}

int main(int argc, char **argv)
{
    void *volatile *volatile before = malloc(12012);
    void *volatile local;
    pthread_t thread;
    char byte;

    (void)argv;
    wait_for_input(argc, '1');
    local = malloc(9229);
    before[7] = malloc(9339);
    keep();
    lose();
    wipe();
    if (pipe(ready) == 0 && pthread_create(&thread, NULL, sleep_on, NULL) == 0)
        read(ready[0], &byte, 1);
    wait_for_input(argc, '2');
    if (argc > 1)
        global = NULL;
    wait_for_input(argc, '3');
    if (argc > 1)
        _exit(local == NULL);
    exit(local == NULL);
}
