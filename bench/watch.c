/* watch - what it costs a program to have memory watched, as CPU time per page, per write and per call. Run it by itself and by
 * `tidemark record`: `cc -O2 -Iinclude bench/watch.c -o watch && tidemark record -q ./watch`.
 */
#include "tidemark.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PAGES 1024
#define BYTES (PAGES * 4096)
#define ROUNDS 20

static double cpu_us(void)
{
    struct rusage r;

    getrusage(RUSAGE_SELF, &r);
    return 1e6 * (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static char *memory(void)
{
    char *m = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(m, 1, BYTES);
    return m;
}

static void fill(const char *what, char *m)
{
    double from, all = 0;

    for (int i = 0; i < ROUNDS; i++) {
        tidemark_mark("closed", (unsigned long)i);
        from = cpu_us();
        memset(m, i, BYTES);
        all += cpu_us() - from;
    }
    printf("%-28s %8.2f us a page\n", what, all / ROUNDS / PAGES);
}

static void touch(const char *what, char *m)
{
    double from, all = 0;

    for (int i = 0; i < ROUNDS * 50; i++) {
        tidemark_mark("closed", (unsigned long)i);
        from = cpu_us();
        for (int k = 0; k < 8; k++)
            *(volatile char *)&m[k * 8192 + i] = 1;
        all += cpu_us() - from;
    }
    printf("%-28s %8.2f us a write\n", what, all / ROUNDS / 50 / 8);
}

static void look(const char *what)
{
    double from = cpu_us();

    for (int i = 0; i < 2000; i++)
        tidemark_mark("look", (unsigned long)i);
    printf("%-28s %8.2f us a mark\n", what, (cpu_us() - from) / 2000);
}

static void reads(const char *what)
{
    int fd = open("/dev/zero", O_RDONLY);
    char to[16];
    double from = cpu_us();

    for (int i = 0; i < 200000; i++)
        if (read(fd, to, sizeof(to)) != sizeof(to))
            exit(3);
    printf("%-28s %8.3f us a read\n", what, (cpu_us() - from) / 200000);
    close(fd);
}

int main(void)
{
    char *m = memory(), *other = memory();

    fill("4 MiB filled, not watched", m);
    touch("8 writes, not watched", m);
    look("mark, nothing watched");
    reads("read, nothing watched");
    tidemark_watch_how(m, BYTES, "m", TIDEMARK_WATCH_LOOKS);
    look("mark, 4 MiB looked at");
    tidemark_unwatch(m);
    tidemark_watch(m, BYTES, "m");
    look("mark, 4 MiB guarded");
    reads("read, elsewhere");
    fill("4 MiB filled, elsewhere", other);
    touch("8 writes, watched", m);
    fill("4 MiB filled, watched", m);
    return 0;
}
