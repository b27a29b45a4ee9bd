/* known_lines KIND - a program of which it is known what each of its lines has allocated, for
 * bench/truth. Says, when it ends, of each line: its number, bytes allocated, at the peak, alive.
 *
 *   kept      lines that keep what they make, of all sizes, beside others that churn
 *   hill      lines that fill up, one after the other, and drop all but one's
 *   rounds    lines that take turns in holding most, and each again and again
 *
 * A large block makes sure which moment is the peak: what is said of lines is said of the moment
 * that was found, and that alone is judged here.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINES 7
#define TOP (LINES - 1)
#define TOP_BYTES (300u << 20)
#define SLOTS 60000

struct kept {
    void *block[SLOTS];
    size_t size[SLOTS];
};

static struct kept all[LINES];
static int number[LINES];
static uint64_t bytes[LINES], live[LINES], at_peak[LINES], sum, peak, state = 88172645463325252ull;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static void note(int line, size_t slot, void *block, size_t size, int at)
{
    memset(block, 1, size);
    all[line].block[slot] = block;
    all[line].size[slot] = size;
    number[line] = at;
    bytes[line] += size;
    live[line] += size;
    sum += size;
    if (sum > peak) {
        peak = sum;
        memcpy(at_peak, live, sizeof(live));
    }
}

static void drop(int line, size_t slot)
{
    if (!all[line].block[slot])
        return;
    live[line] -= all[line].size[slot];
    sum -= all[line].size[slot];
    free(all[line].block[slot]);
    all[line].block[slot] = NULL;
}

#define PUT(line, slot, bytes_)                                                                    \
    do {                                                                                           \
        size_t slot_ = (slot), size_ = (bytes_);                                                   \
                                                                                                   \
        drop(line, slot_);                                                                         \
        note(line, slot_, malloc(size_), size_, __LINE__);                                         \
    } while (0)

static void kept(void)
{
    for (size_t i = 0; i < 50000; i++) {
        PUT(0, i, 40 + draw(80));
        PUT(1, i % 1000, 200 + draw(8000));
        if (i % 4 == 0)
            PUT(2, i, 500 + draw(1000));
        if (i % 100 == 0)
            PUT(3, i, 20000 + draw(40000));
        if (i % 2500 == 0)
            PUT(4, i, 1000000 + draw(1000000));
        for (int k = 0; k < 20; k++)
            PUT(5, draw(300), 16 + draw(3000));
    }
    PUT(TOP, 0, TOP_BYTES);
}

static void hill(void)
{
    for (size_t i = 0; i < 40000; i++)
        PUT(0, i, 300 + draw(300));
    for (size_t i = 0; i < 10000; i++)
        PUT(1, i, 1000 + draw(2000));
    for (size_t i = 0; i < 500; i++)
        PUT(2, i, 10000 + draw(30000));
    PUT(TOP, 0, TOP_BYTES);
    drop(TOP, 0);
    for (size_t i = 0; i < 40000; i++) {
        drop(0, i);
        if (i < 500)
            drop(2, i);
        for (int k = 0; k < 30; k++)
            PUT(3, draw(100), 100 + draw(1000));
    }
}

static void rounds(void)
{
    for (int round = 0; round < 60; round++) {
        for (size_t i = 0; i < 3000; i++)
            PUT(0, i, 100 + draw(1000));
        for (size_t i = 0; i < 3000; i++)
            PUT(1, i, 100 + draw((uint64_t)round * 30 + 10));
        for (size_t i = 0; i < 3000; i++)
            drop(0, i);
        for (size_t i = 0; i < 300; i++)
            PUT(2, i, 5000 + draw(5000));
        if (round == 45)
            PUT(TOP, 0, TOP_BYTES);
        drop(TOP, 0);
        for (size_t i = 0; i < 300; i++)
            drop(2, i);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*work)(void);
    } kinds[] = {{"kept", kept}, {"hill", hill}, {"rounds", rounds}};

    for (size_t i = 0; argc > 1 && i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strcmp(kinds[i].name, argv[1]) == 0)
            kinds[i].work();
    for (int i = 0; i < LINES; i++)
        if (number[i])
            fprintf(stderr, "%d %llu %llu %llu\n", number[i], (unsigned long long)bytes[i],
                    (unsigned long long)at_peak[i], (unsigned long long)live[i]);
    return 0;
}
