/* copies much        copy 1280 MiB on one line, and 20 MiB on another
 * copies later FILE  the same in an object that is loaded for it
 * copies family      every function that copies, with results that are checked: "right"
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK (64 * 1024)
#define MIB (1024 * 1024)

void *__memcpy_chk(void *to, const void *from, size_t n, size_t room);
void *__memmove_chk(void *to, const void *from, size_t n, size_t room);
void *__mempcpy_chk(void *to, const void *from, size_t n, size_t room);

static char from[BLOCK], to[BLOCK];
static volatile size_t block = BLOCK;

static void __attribute__((noinline)) much(void)
{
    for (int i = 0; i < 1280 * MIB / BLOCK; i++)
        memcpy(to, from, block);
}

static void __attribute__((noinline)) little(void)
{
    for (int i = 0; i < 20 * MIB / BLOCK; i++)
        memmove(to, from, block);
}

static int check(size_t n)
{
    char a[300], b[300];
    int right = 1;

    for (int i = 0; i < 300; i++)
        a[i] = (char)i;
#define SAME(call, result)                                                                         \
    memset(b, 99, sizeof(b));                                                                      \
    right &= (call) == (void *)(result) && memcmp(b, a, n) == 0 && b[n] == 99
    SAME(memcpy(b, a, n), b);
    SAME(memmove(b, a, n), b);
    SAME(mempcpy(b, a, n), b + n);
    SAME(__memcpy_chk(b, a, n, sizeof(b)), b);
    SAME(__memmove_chk(b, a, n, sizeof(b)), b);
    SAME(__mempcpy_chk(b, a, n, sizeof(b)), b + n);
    memcpy(b, a, 250);
    right &= memmove(b + 7, b, n) == b + 7 && memcmp(b + 7, a, n) == 0;
    memcpy(b, a, 250);
    right &= memmove(b, b + 7, n) == b && memcmp(b, a + 7, n) == 0;
    return right;
}

static void *many(void *result)
{
    int right = 1;

    for (int round = 0; round < 3000; round++)
        for (volatile size_t n = 0; n < 200; n += 13)
            right &= check(n);
    *(int *)result = right;
    return NULL;
}

static int family(void)
{
    pthread_t threads[3];
    int right[3] = {0};

    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, many, &right[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    puts(right[0] && right[1] && right[2] ? "right" : "wrong");
    return 0;
}

int main(int argc, char **argv)
{
    void (*copy)(void);
    void *loaded;

    if (argc > 1 && strcmp(argv[1], "family") == 0)
        return family();
    if (argc > 2) {
        loaded = dlopen(argv[2], RTLD_NOW);
        copy = loaded ? (void (*)(void))dlsym(loaded, "copy_much") : NULL;
        if (!copy)
            return 1;
        copy();
        return 0;
    }
    much();
    little();
    return 0;
}
