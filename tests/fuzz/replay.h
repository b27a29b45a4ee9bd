/* replay - without a fuzzing engine: read each file that is named once, and print TAP. One that
 * takes REPLAY_SECONDS_MOST of processor time ends it by SIGXCPU: a hang is a finding. Where
 * REPLAY_MUTATE names a mutator each file but the large ones is also read REPLAY_MUTATIONS times as
 * it makes it, always the same, unless REPLAY_ONCE is in the environment.
 */
#ifndef REPLAY_H
#define REPLAY_H

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef FUZZ_ENGINE

#include <stdio.h>
#include <sys/resource.h>

#ifdef __SANITIZE_ADDRESS__
#define REPLAY_SECONDS_MOST 400 /* its checks are no part of the work that is bounded */
#else
#define REPLAY_SECONDS_MOST 60
#endif
#define REPLAY_MUTATIONS 16u
#define REPLAY_MUTATED_MOST (24u << 10) /* bytes of a file */
#define REPLAY_ROOM (1u << 20)

/* From now on. */
static void limit_time(void)
{
    struct rusage used;
    struct rlimit limit;

    if (getrusage(RUSAGE_SELF, &used) != 0 || getrlimit(RLIMIT_CPU, &limit) != 0)
        return;
    limit.rlim_cur = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + REPLAY_SECONDS_MOST;
    setrlimit(RLIMIT_CPU, &limit);
}

static void read_once(const uint8_t *data, size_t size)
{
    limit_time();
    LLVMFuzzerTestOneInput(data, size);
}

#ifdef REPLAY_MUTATE
static void read_mutated(uint8_t *data, size_t size)
{
    if (getenv("REPLAY_ONCE") || size > REPLAY_MUTATED_MOST)
        return;
    for (unsigned int i = 0; i < REPLAY_MUTATIONS; i++) {
        size = REPLAY_MUTATE(data, size, REPLAY_ROOM, i * 2654435761u + (unsigned int)size);
        read_once(data, size);
    }
}
#else
static void read_mutated(uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
}
#endif

static int replay(const char *path)
{
    FILE *f = fopen(path, "r");
    uint8_t *data = malloc(REPLAY_ROOM);
    size_t size;

    if (!f || !data) {
        printf("# cannot read %s\n", path);
        if (f)
            fclose(f);
        free(data);
        return -1;
    }
    size = fread(data, 1, REPLAY_ROOM, f);
    fclose(f);
    read_once(data, size);
    read_mutated(data, size);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;

    printf("1..%d\n", argc > 1 ? argc - 1 : 0);
    for (int i = 1; i < argc; i++) {
        int bad = replay(argv[i]) < 0;

        printf("%sok %d - %s\n", bad ? "not " : "", i, argv[i]);
        failed |= bad;
    }
    return failed;
}

#endif

#endif
