/* confined FILE HOW   filters its system calls by the program in FILE, of struct sock_filter, when
 * all of its threads wait: HOW is all, or thread: a single one, which is not the first, or later:
 * when it is told to by 'p'
 *
 * Then it obeys its input, a letter at a time. A filter that kills shows by its death. Nothing is
 * done by stdio, so that it is known what it asks the kernel for. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct sock_filter filter[4096];
static struct sock_fprog program;
static void *blocks[1000];
static int block_count;
static atomic_int waiting;

static void put_on(unsigned int flags)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) != 0)
        _exit(9);
}

/* The kernel goes on with these by a call of its own when somebody has stopped them. */
static void *wait_long(void *alone)
{
    struct timespec t = {0, 20000000};

    if (alone)
        put_on(0);
    for (waiting = 1;;)
        nanosleep(&t, NULL);
    return NULL;
}

static void *work(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10; i++)
        blocks[block_count++] = malloc(500);
    return NULL;
}

static void allocate(void)
{
    for (int i = 0; i < 100; i++)
        blocks[block_count++] = malloc(1000);
    for (int i = 0; i < 50; i++)
        free(blocks[--block_count]);
}

static void obey(char c)
{
    pthread_t other;
    pid_t child;

    if (c == 'a')
        allocate();
    if (c == 'p')
        put_on(SECCOMP_FILTER_FLAG_TSYNC);
    if (c == 't' && pthread_create(&other, NULL, work, NULL) == 0)
        pthread_join(other, NULL);
    if (c == 'f' && (child = fork()) == 0) {
        blocks[0] = malloc(3000);
        _exit(0);
    }
    if (c == 'f')
        waitpid(child, NULL, 0);
    if (c == 'e' && (child = fork()) == 0) {
        execl("/bin/true", "true", NULL);
        _exit(9);
    }
    if (c == 'e')
        waitpid(child, NULL, 0);
}

static void read_filter(const char *path)
{
    int fd = open(path, O_RDONLY);
    ssize_t bytes = read(fd, filter, sizeof(filter));

    program = (struct sock_fprog){(unsigned short)(bytes / (ssize_t)sizeof(filter[0])), filter};
    close(fd);
}

int main(int argc, char **argv)
{
    int alone = argc > 2 && argv[2][0] == 't';
    pthread_t other;
    char c;

    read_filter(argv[1]);
    free(malloc(100));
    pthread_create(&other, NULL, wait_long, alone ? &other : NULL);
    while (!waiting)
        usleep(1000);
    if (!alone && argv[2][0] != 'l')
        put_on(SECCOMP_FILTER_FLAG_TSYNC);
    write(1, "ready\n", 6);
    while (read(0, &c, 1) == 1) {
        obey(c);
        write(1, &c, 1);
        write(1, " done\n", 6);
    }
    return 0;
}
