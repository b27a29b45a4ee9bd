/* ranks - see ranks.h. */
#include "model/ranks.h"

#include "base/text.h"

#include <string.h>

#define PROCESSES_MOST ((size_t)1 << 22)
#define DIGITS_MOST 9

static const char *const keys[RANK_NUMBERS] = {
    [RANK_RANK] = FACT_RANK, [RANK_LOCAL] = FACT_LOCAL_RANK, [RANK_WORLD] = FACT_WORLD_SIZE};

static bool read_number(const struct trace_event *ev, uint64_t *number)
{
    char digits[DIGITS_MOST + 1] = "";

    if (ev->tail_bytes > DIGITS_MOST)
        return false;
    memcpy(digits, ev->tail, ev->tail_bytes);
    return text_parse_number(digits, number);
}

void ranks_fact(struct ranks *r, struct names *n, const struct trace_event *ev)
{
    const char *key = names_get(n, ev->fact.key);
    uint64_t number;

    for (int i = 0; key && i < RANK_NUMBERS; i++)
        if (strcmp(key, keys[i]) == 0 && r->of[i].used < PROCESSES_MOST && read_number(ev, &number))
            intmap_put(&r->of[i], ev->fact.id, number);
}

bool ranks_of(const struct ranks *r, uint64_t process, struct rank_known out[RANK_NUMBERS])
{
    bool any = false;

    for (int i = 0; i < RANK_NUMBERS; i++) {
        out[i].known = intmap_get(&r->of[i], process, &out[i].number);
        any |= out[i].known;
    }
    return any;
}

void ranks_free(struct ranks *r)
{
    for (int i = 0; i < RANK_NUMBERS; i++)
        intmap_free(&r->of[i]);
}
