/* suppress_table - see suppress_table.h. */
#include "questions/suppress_table.h"

#include "base/count.h"

void suppress_table(struct answer *a, const struct suppress *s)
{
    enum { BYTES, BLOCKS, STACKS, PATTERN };

    static const struct table_column columns[] = {
        [BYTES] = {"bytes", UNIT_BYTES},
        [BLOCKS] = {"blocks", UNIT_COUNT},
        [STACKS] = {"stacks", UNIT_COUNT},
        [PATTERN] = {"pattern", UNIT_TEXT},
    };
    struct table *t;

    if (!s)
        return;
    t = answer_add(a, "suppressed", TABLE_ROWS, columns, COUNT(columns));
    for (size_t i = 0; i < s->count; i++) {
        struct table_cell *c;

        if (!s->rules[i].stacks)
            continue;
        c = table_add(a, t);
        cell_number(&c[BYTES], s->rules[i].bytes);
        cell_number(&c[BLOCKS], s->rules[i].blocks);
        cell_number(&c[STACKS], s->rules[i].stacks);
        cell_text(&c[PATTERN], s->rules[i].pattern);
    }
    table_sort(t, BYTES);
    t->note = arena_printf(a->arena, "%d of %zu suppressions of %s matched.", t->rows, s->count,
                           s->path);
}

void known_leaks_table(struct answer *a, const struct known_leaks *k)
{
    enum { BYTES, BLOCKS, STACKS, WHAT };
    static const struct table_column columns[] = {
        [BYTES] = {"bytes", UNIT_BYTES},
        [BLOCKS] = {"blocks", UNIT_COUNT},
        [STACKS] = {"stacks", UNIT_COUNT},
        [WHAT] = {"what", UNIT_TEXT},
    };
    struct table *t;

    if (!k->count)
        return;
    t = answer_add(a, "left_out", TABLE_ROWS, columns, COUNT(columns));
    for (size_t i = 0; i < k->count; i++) {
        struct table_cell *c = table_add(a, t);

        cell_number(&c[BYTES], k->left[i].amount.bytes);
        cell_number(&c[BLOCKS], heap_blocks(&k->left[i].amount));
        cell_number(&c[STACKS], k->left[i].stacks);
        cell_text(&c[WHAT], k->left[i].what);
    }
    table_sort(t, BYTES);
    t->note =
        "What libraries keep until the end on purpose; --no-default-suppressions shows it among "
        "the others.";
}
