/* own_rank - see own_rank.h. */
#include "inject/own_rank.h"

#include <string.h>

static const char *const names[] = {
#define X(kind, name) name,
    RING_RANKS(X)
#undef X
};

#define NAMES OWN_RANK_NAMES

static struct {
    char digits[RING_RANK_DIGITS];
    size_t count;
} known[NAMES]; /* what forked children go on with */

/* How many digits a value has; 0: it is no number, or a longer one. */
size_t own_rank_digits(const char *value)
{
    size_t count = 0;

    while (count <= RING_RANK_DIGITS && value[count] >= '0' && value[count] <= '9')
        count++;
    return value[count] || count > RING_RANK_DIGITS ? 0 : count;
}

void own_rank_put(struct thread *t, size_t which, const char *digits, size_t count)
{
    uint64_t words[2] = {which, (uint64_t)count << 32 | count};

    if (count)
        buffer_put(t, buffer_word(RING_MARK, RING_MARK_RANK, 0), words, 2, digits, count);
}

/* Which of the names it is, of so many bytes; NAMES: none. */
size_t own_rank_which(const char *name, size_t bytes)
{
    size_t i = RING_RANKS_TOLD;

    while (i < NAMES && (strlen(names[i]) != bytes || memcmp(names[i], name, bytes) != 0))
        i++;
    return i;
}

void own_rank_keep(size_t which, const char *digits, size_t count)
{
    known[which].count = 0;
    memcpy(known[which].digits, digits, count);
    known[which].count = count;
}

bool own_rank_learn(char *const *environment)
{
    bool any = false;

    for (; *environment; environment++) {
        const char *equals = strchr(*environment, '=');
        size_t which = equals ? own_rank_which(*environment, (size_t)(equals - *environment))
                              : NAMES;

        if (which == NAMES)
            continue;
        own_rank_keep(which, equals + 1, own_rank_digits(equals + 1));
        any = true;
    }
    return any;
}

void own_rank_tell(struct thread *t)
{
    for (size_t i = 0; i < NAMES; i++)
        own_rank_put(t, i, known[i].digits, known[i].count);
}
