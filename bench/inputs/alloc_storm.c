// alloc-storm: N threads x M malloc/free pairs of small sizes at call depth D.
// usage: alloc-storm [-t threads] [-n pairs_per_thread] [-d depth] [-k pairs_per_descent]
//                    [-p distinct_paths] [-l live_ring] [-s maxsize] [-x cross_thread_free(0/1)]
// Build: -O2 with/without -fno-omit-frame-pointer (see Makefile).
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int T = 1, D = 5, K = 1, P = 16, L = 64, S = 256, X = 0;
static long N = 1000000;

typedef struct {
    uint64_t rng;
    void **ring;
    int pos;
    long done;
    long target;
    int id;
    double secs;
} Ctx;
static inline uint64_t xs(uint64_t *s)
{
    uint64_t x = *s;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *s = x;
}
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

// The leaf allocation sites: 4 distinct ones
#define NI __attribute__((noinline, noclone))
#define LEAF(i)                                                                                    \
    NI static void leaf##i(Ctx *c, uint64_t r)                                                     \
    {                                                                                              \
        size_t sz = 16 + (r % (uint64_t)S);                                                        \
        void *p = malloc(sz);                                                                      \
        *(volatile char *)p = 1;                                                                   \
        int q = c->pos;                                                                            \
        void *old = c->ring[q];                                                                    \
        c->ring[q] = p;                                                                            \
        if (++q == L)                                                                              \
            q = 0;                                                                                 \
        c->pos = q;                                                                                \
        free(old);                                                                                 \
        c->done++;                                                                                 \
        __asm__ volatile("" ::: "memory");                                                         \
    }
LEAF(0)
LEAF(1) LEAF(2) LEAF(3)

    static void go(Ctx *c, int depth, uint64_t path);
// 4 recursive functions with different frame sizes; depth levels chosen by 2 bits of path
#define REC(i, bytes)                                                                              \
    NI static void rec##i(Ctx *c, int depth, uint64_t path)                                        \
    {                                                                                              \
        volatile char pad[bytes];                                                                  \
        pad[0] = (char)depth;                                                                      \
        if (depth <= 1) {                                                                          \
            for (int k = 0; k < K; k++) {                                                          \
                uint64_t r = xs(&c->rng);                                                          \
                switch (r >> 62) {                                                                 \
                case 0:                                                                            \
                    leaf0(c, r);                                                                   \
                    break;                                                                         \
                case 1:                                                                            \
                    leaf1(c, r);                                                                   \
                    break;                                                                         \
                case 2:                                                                            \
                    leaf2(c, r);                                                                   \
                    break;                                                                         \
                default:                                                                           \
                    leaf3(c, r);                                                                   \
                }                                                                                  \
            }                                                                                      \
        } else                                                                                     \
            go(c, depth - 1, path >> 2);                                                           \
        pad[bytes - 1] = pad[0];                                                                   \
        __asm__ volatile("" ::: "memory");                                                         \
    }
REC(0, 16)
REC(1, 40) REC(2, 88) REC(3, 200)
    __attribute__((always_inline)) static inline void go(Ctx *c, int depth, uint64_t path)
{
    switch (path & 3) {
    case 0:
        rec0(c, depth, path);
        break;
    case 1:
        rec1(c, depth, path);
        break;
    case 2:
        rec2(c, depth, path);
        break;
    default:
        rec3(c, depth, path);
    }
}

NI static void *worker(void *a)
{
    Ctx *c = a;
    double t0 = now();
    while (c->done < c->target) {
        uint64_t path = (xs(&c->rng) >> 20) % (uint64_t)P;
        // spread the path id: multiply so that different paths differ at several levels
        path = path * 0x9E3779B97F4A7C15ull;
        path ^= path >> 29;
        go(c, D > 2 ? D - 2 : 1, path); // worker + leaf count as levels too
    }
    c->secs = now() - t0;
    return 0;
}
int main(int ac, char **av)
{
    int o;
    while ((o = getopt(ac, av, "t:n:d:k:p:l:s:x:")) != -1)
        switch (o) {
        case 't':
            T = atoi(optarg);
            break;
        case 'n':
            N = atol(optarg);
            break;
        case 'd':
            D = atoi(optarg);
            break;
        case 'k':
            K = atoi(optarg);
            break;
        case 'p':
            P = atoi(optarg);
            break;
        case 'l':
            L = atoi(optarg);
            break;
        case 's':
            S = atoi(optarg);
            break;
        case 'x':
            X = atoi(optarg);
            break;
        default:
            return 2;
        }
    Ctx *c = calloc(T, sizeof *c);
    pthread_t th[256];
    double t0 = now();
    for (int i = 0; i < T; i++) {
        c[i].rng = 0x1234567ull * (i + 1) + 99;
        c[i].ring = calloc(L, sizeof(void *));
        c[i].target = N;
        c[i].id = i;
    }
    if (T == 1)
        worker(&c[0]);
    else {
        for (int i = 0; i < T; i++)
            pthread_create(&th[i], 0, worker, &c[i]);
        for (int i = 0; i < T; i++)
            pthread_join(th[i], 0);
    }
    double w = now() - t0;
    struct rusage ru;
    getrusage(RUSAGE_SELF, &ru);
    double cpu = ru.ru_utime.tv_sec + ru.ru_utime.tv_usec * 1e-6,
           sys = ru.ru_stime.tv_sec + ru.ru_stime.tv_usec * 1e-6;
    long tot = 0;
    double ws = 0;
    for (int i = 0; i < T; i++) {
        tot += c[i].done;
        ws += c[i].secs;
    }
    fprintf(
        stderr,
        "STORM t=%d d=%d k=%d p=%d pairs=%ld wall=%.3f user=%.3f sys=%.3f ns_per_pair_thread=%.2f rss_kb=%ld\n",
        T, D, K, P, tot, w, cpu, sys, ws * 1e9 / tot, ru.ru_maxrss);
    for (int i = 0; i < T; i++)
        for (int j = 0; j < L; j++)
            free(c[i].ring[j]);
    return 0;
}
