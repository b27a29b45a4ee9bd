/* windows - a loop for tests/cli/test_windows.py: windows STEPS [threads|fork|say]
 *
 * Before the first step: 4 blocks of WARM bytes by warm(). In each step: one of KEEP bytes by
 * keep(), which stays, and one of CHURN by churn(), which is freed. In step 15 two of the first
 * four are freed. `threads`: a second thread does the same in each step, but for what is freed in
 * step 15. `fork`: a child, which tells no steps, runs beside and allocates one block of CHILD
 * bytes for each step. `say`: no steps are told, but a window from the tenth to the twentieth.
 */
#include "tidemark.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WARM = 100000, KEEP = 10000, CHURN = 50000, CHILD = 7000 };

static volatile char *volatile hold;
static int to_child[2], to_parent[2];

__attribute__((noinline)) static char *warm(void)
{
    return memset(malloc(WARM), 1, WARM);
}

__attribute__((noinline)) static char *keep(void)
{
    return memset(malloc(KEEP), 1, KEEP);
}

__attribute__((noinline)) static char *churn(void)
{
    return memset(malloc(CHURN), 1, CHURN);
}

__attribute__((noinline)) static char *child_keeps(void)
{
    return memset(malloc(CHILD), 1, CHILD);
}

static void *work(void *unused)
{
    char *block = churn();

    (void)unused;
    hold = keep();
    free(block);
    return NULL;
}

static void be_child(void)
{
    char c;

    while (read(to_child[0], &c, 1) == 1) {
        hold = child_keeps();
        if (write(to_parent[1], &c, 1) != 1)
            break;
    }
    _exit(0);
}

static void start_child(void)
{
    if (pipe(to_child) || pipe(to_parent) || fork())
        return;
    close(to_child[1]);
    be_child();
}

static void let_child(void)
{
    char c = 'c';

    if (write(to_child[1], &c, 1) != 1 || read(to_parent[0], &c, 1) != 1)
        abort();
}

static void step(int number, const char *how, char **first)
{
    pthread_t thread;

    if (strcmp(how, "say") == 0 && number == 10)
        tidemark_start();
    if (strcmp(how, "threads") == 0 && pthread_create(&thread, NULL, work, NULL) == 0)
        pthread_join(thread, NULL);
    work(NULL);
    if (strcmp(how, "fork") == 0)
        let_child();
    if (number == 15) {
        free(first[0]);
        free(first[1]);
    }
    if (strcmp(how, "say") == 0 && number == 20)
        tidemark_stop();
    else if (strcmp(how, "say") != 0)
        tidemark_step("loop", (uint64_t)number);
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    char *first[4];

    if (strcmp(how, "fork") == 0)
        start_child();
    for (int i = 0; i < 4; i++)
        first[i] = warm();
    for (int s = 1; s <= atoi(argv[1]); s++)
        step(s, how, first);
    if (strcmp(how, "fork") == 0) {
        close(to_child[1]);
        wait(NULL);
    }
    return 0;
}
