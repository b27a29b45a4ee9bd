/* mapper - memory that a program maps itself, in every way there is: each function takes a known
 * amount of one kind, and its name says which. The argument says what to do; what is not given back
 * is alive at the end.
 */
#include <tidemark.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (1l << 20)
#define OWN __attribute__((noinline)) static
#define PRIVATE (MAP_PRIVATE | MAP_ANONYMOUS)
#define OPEN (PROT_READ | PROT_WRITE)

/* Long enough for a look of the recorder, which has one at least once in a second. */
static void be_looked_at(void)
{
    struct timespec t = {2, 500000000};

    nanosleep(&t, NULL);
}

/* A macro: the line that asks is the site. */
#define map(mib, protection, flags, fd)                                                            \
    (char *)mmap(NULL, (mib)*MIB, (protection), (flags), (fd), 0)

OWN char *anonymous_24(void)
{
    char *p = map(24, OPEN, PRIVATE, -1);

    memset(p, 1, 6 * MIB);
    return p;
}

OWN char *shared_20(void)
{
    return map(20, OPEN, MAP_SHARED | MAP_ANONYMOUS, -1);
}

OWN char *memory_file_16(int *fd)
{
    *fd = memfd_create("mapper", 0);
    if (*fd < 0 || ftruncate(*fd, 16 * MIB))
        abort();
    return map(16, OPEN, MAP_SHARED, *fd);
}

OWN char *file_12(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    char *p;

    if (fd < 0 || ftruncate(fd, 12 * MIB))
        abort();
    p = map(12, OPEN, MAP_SHARED, fd);
    memset(p, 1, 3 * MIB);
    close(fd);
    return p;
}

OWN char *closed_1024(void)
{
    return map(1024, PROT_NONE, PRIVATE | MAP_NORESERVE, -1);
}

OWN void opened_14(char *p)
{
    mprotect(p + 100 * MIB, 14 * MIB, OPEN);
}

OWN void placed_10(char *p)
{
    mmap(p + 200 * MIB, 10 * MIB, OPEN, PRIVATE | MAP_FIXED, -1, 0);
}

OWN char *reserved_512(void)
{
    char *p = map(512, OPEN, PRIVATE | MAP_NORESERVE, -1);

    memset(p + 64 * MIB, 1, 9 * MIB);
    return p;
}

OWN char *moved_18(void)
{
    return mremap(map(3, OPEN, PRIVATE, -1), 3 * MIB, 18 * MIB, MREMAP_MAYMOVE);
}

OWN void holes_8(void)
{
    char *p = map(11, OPEN, PRIVATE, -1);

    munmap(p, MIB);
    munmap(p + 4 * MIB, MIB);
    munmap(p + 10 * MIB, MIB);
}

OWN void break_7(void)
{
    sbrk(9 * MIB);
    sbrk(-2 * MIB);
}

OWN char *segment_5(int *id)
{
    *id = shmget(IPC_PRIVATE, 5 * MIB, 0600);
    return shmat(*id, NULL, 0);
}

OWN void gone_30(void)
{
    munmap(map(30, OPEN, PRIVATE, -1), 30 * MIB);
}

OWN void failed_unmap(void)
{
    char *p = map(2, OPEN, PRIVATE, -1);

    if (munmap(p + 1, MIB) == 0)
        abort();
    munmap(p, 2 * MIB);
}

static void every_kind(const char *path)
{
    char *closed = closed_1024();
    int fd, id;

    anonymous_24();
    shared_20();
    memory_file_16(&fd);
    file_12(path);
    opened_14(closed);
    placed_10(closed);
    reserved_512();
    moved_18();
    holes_8();
    break_7();
    segment_5(&id);
    shmctl(id, IPC_RMID, NULL);
    gone_30();
    failed_unmap();
    be_looked_at();
}

/* One object in two processes, and at two places of one of them. */
OWN void child_maps(int fd)
{
    char *p = map(16, OPEN, MAP_SHARED, fd);

    memset(p, 2, 2 * MIB);
    be_looked_at();
}

static void two_processes(void)
{
    int fd;
    char *p = memory_file_16(&fd);
    pid_t child;

    map(16, OPEN, MAP_SHARED, fd);
    anonymous_24(); /* its copy in the child is the parent's */
    child = fork();
    if (child == 0) {
        child_maps(fd);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    munmap(p, 16 * MIB);
}

/* Blocks that are told one by one, in memory that is mapped: it counts as the blocks do. */
OWN void own_blocks_6(char *arena)
{
    for (int i = 0; i < 6; i++)
        tidemark_alloc(arena + i * 2 * MIB, MIB);
}

static void own_allocator(void)
{
    char *arena = map(64, OPEN, PRIVATE, -1);

    own_blocks_6(arena);
    be_looked_at();
}

/* Threads that map and unmap, whose addresses the kernel gives to each other. */
static void *churn(void *unused)
{
    for (int i = 0; i < 20000; i++) {
        char *p = map(1, OPEN, PRIVATE, -1);

        munmap(p, MIB / 2);
        munmap(p + MIB / 2, MIB / 2);
    }
    return unused;
}

static void threads(void)
{
    pthread_t t[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, churn, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    anonymous_24();
}

/* malloc's own maps are blocks already. */
static char *volatile kept;

OWN void blocks_40(void)
{
    kept = calloc(40, MIB);
    memset(kept + MIB, 1, 10 * MIB);
}

static void large_blocks(bool hidden)
{
    if (hidden)
        prctl(PR_SET_DUMPABLE, 0); /* nobody but root may look into it */
    blocks_40();
    anonymous_24();
    be_looked_at();
}

int main(int count, char **words)
{
    const char *how = count > 1 ? words[1] : "";

    if (!strcmp(how, "kinds") && count > 2)
        every_kind(words[2]);
    else if (!strcmp(how, "two"))
        two_processes();
    else if (!strcmp(how, "own"))
        own_allocator();
    else if (!strcmp(how, "threads"))
        threads();
    else if (!strcmp(how, "large") || !strcmp(how, "hidden"))
        large_blocks(!strcmp(how, "hidden"));
    else
        return 1;
    return 0;
}
