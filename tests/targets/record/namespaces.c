/* namespaces: a child that is the first of a pid namespace, and its child, allocate: 1000, then 500
 * and 100 more blocks; then the parent one. Ends with 3 where there may be no such namespace.
 */
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;

static void allocate(int count)
{
    for (int i = 0; i < count; i++)
        kept = malloc(64);
}

static void inside(void)
{
    allocate(1000);
    usleep(100000);
    if (!fork()) {
        allocate(500);
        usleep(50000);
        _exit(0);
    }
    while (wait(NULL) > 0)
        ;
    allocate(100);
    _exit(0);
}

int main(void)
{
    if (unshare(CLONE_NEWPID))
        return 3;
    if (!fork())
        inside();
    while (wait(NULL) > 0)
        ;
    allocate(1);
    return 0;
}
