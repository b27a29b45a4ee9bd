/* sample_cost [ROUNDS] - what one sample costs: everything of one process and of the machine.
 *
 * Reads its own process, through the same code and the same kept descriptors as the watcher, and
 * prints the median in microseconds of the process's part, of the machine's part, and of both.
 */
#include "platform/linux_procfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_size);
    return values[count / 2];
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
    double *process = calloc(rounds, sizeof(double)), *machine = calloc(rounds, sizeof(double)),
           *both = calloc(rounds, sizeof(double));
    struct machine host = {0};
    struct machine_sample sample;
    struct proc_reading reading;
    struct proc self;
    char io[512];

    if (rounds == 0 || !process || !machine || !both || proc_open(&self, getpid(), true) != 0)
        return 1;
    for (size_t i = 0; i < rounds; i++) {
        double start = now_us();
        if (proc_read_stat(&self, &reading) != 0 || proc_read_status(&self, &reading) != 0)
            return 1;
        proc_read_details(&self, &reading);
        proc_read_io(&self, io, sizeof(io));
        double between = now_us();
        machine_read(&host, true, &sample);
        double end = now_us();
        process[i] = between - start;
        machine[i] = end - between;
        both[i] = end - start;
    }
    printf("%.1f %.1f %.1f\n", median(process, rounds), median(machine, rounds),
           median(both, rounds));
    return 0;
}
