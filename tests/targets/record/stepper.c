/* A loop of 12 steps whose memory is known to the byte, with marks, labels, threads and a child:
 *   keep    100 bytes more in every step          grows
 *   cache   300 bytes more in steps 1 to 3        grew once
 *   hand_on 7000 bytes, freed in the step after   steady
 *   churn   50000 bytes, freed at once            in no step's end
 * After step 3 a snapshot "warm", after steps 6 and 9 marks "eval". In step 5 three threads keep
 * 1000, 2000 and 3000 bytes, each under a label of its own and with a nested one. In step 8 a child
 * is forked with the label phase=forked: it keeps 4444 bytes, ends a step of its own, keeps 2222
 * bytes in the next, and ends that as well.
 */
#include "tidemark.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEPS 12
#define APART __attribute__((noinline, noclone))

void *kept[4096];
static _Atomic unsigned int kept_count;
static pthread_barrier_t labelled;

APART static void hold(size_t bytes)
{
    unsigned int i = kept_count++;

    kept[i] = malloc(bytes);
    memset(kept[i], 1, bytes);
}

APART static void keep(void)
{
    hold(100);
    __asm__ volatile("");
}

APART static void cache(void)
{
    hold(300);
    __asm__ volatile("");
}

APART static void hand_on(void)
{
    static char *held;
    char *fresh = malloc(7000);

    fresh[0] = 1;
    free(held);
    held = fresh;
}

APART static void churn(void)
{
    char *volatile p = malloc(50000);

    p[0] = 1;
    free(p);
}

APART static void work(size_t bytes)
{
    hold(bytes);
    __asm__ volatile("");
}

static void *thread(void *argument)
{
    size_t number = (size_t)argument;
    char name[8];

    snprintf(name, sizeof(name), "w%zu", number);
    tidemark_label("worker", name);
    tidemark_label("phase", "load");
    pthread_barrier_wait(&labelled);
    work(number * 600);
    tidemark_label("phase", "sort");
    pthread_barrier_wait(&labelled);
    work(number * 300);
    tidemark_label("phase", NULL);
    work(number * 100);
    return NULL;
}

static void run_threads(void)
{
    pthread_t threads[3];

    pthread_barrier_init(&labelled, NULL, 3);
    for (size_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, thread, (void *)(i + 1));
    for (size_t i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

static void run_child(void)
{
    pid_t child;

    tidemark_label("phase", "forked");
    child = fork();
    if (child == 0) {
        work(4444);
        tidemark_step("own", 1);
        work(2222);
        tidemark_step("own", 2);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    tidemark_label("phase", NULL);
}

int main(void)
{
    hold(1000);
    for (unsigned int i = 1; i <= STEPS; i++) {
        keep();
        if (i <= 3)
            cache();
        hand_on();
        churn();
        if (i == 5)
            run_threads();
        if (i == 8)
            run_child();
        tidemark_step("train", i);
        if (i == 3)
            tidemark_snapshot("warm");
        if (i % 3 == 0 && i > 3 && i < STEPS)
            tidemark_mark("eval", i);
    }
    return 0;
}
