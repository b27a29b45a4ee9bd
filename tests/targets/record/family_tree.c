/* Threads that allocate while children come by fork, vfork, exec and raw clone. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile int stop;

static void *work(void *arg)
{
    (void)arg;
    while (!stop) {
        char *volatile p = malloc(100);

        p[0] = 1;
        free(p);
    }
    return NULL;
}

static void child(int i)
{
    for (int k = 0; k < 10; k++) {
        char *volatile p = malloc((size_t)(1000 + i));

        p[0] = 1;
        if (k)
            free(p); /* one lives: 1000 + i */
    }
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 60, bad = 0;
    pthread_t t[2];

    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < n; i++) {
        char *args[] = {"true", NULL};
        pid_t pid = -1;
        int status = 0;

        switch (i % 4) {
        case 0:
            pid = fork();
            break;
        case 1:
            pid = vfork();
            break;
        case 2:
            pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
            break;
        case 3:
            posix_spawn(&pid, "/bin/true", NULL, NULL, args, environ);
            break;
        }
        if (pid == 0) {
            if (i % 4 == 1)
                execv("/bin/true", args);
            child(i);
            _exit(0);
        }
        waitpid(pid, &status, 0);
        bad += status != 0;
    }
    stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("bad %d\n", bad);
    return bad != 0;
}
