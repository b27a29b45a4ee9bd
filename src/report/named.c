/* named - see named.h. */
#include "report/named.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

const struct table *named_table(const struct answer *a, const char *name)
{
    static const struct table none = {.shape = TABLE_ROWS};

    for (int i = 0; i < a->count; i++)
        if (strcmp(a->tables[i]->name, name) == 0)
            return a->tables[i];
    return &none;
}

int named_column(const struct table *t, const char *name)
{
    for (int i = 0; i < t->width; i++)
        if (strcmp(t->columns[i].name, name) == 0)
            return i;
    return -1;
}

const struct table_cell *named_cell(const struct table *t, int row, const char *column)
{
    int at = row < 0 ? -1 : named_column(t, column);

    return at >= 0 && table_at(t, row, at)->present ? table_at(t, row, at) : NULL;
}

double named_value(const struct table_cell *c)
{
    return !c ? 0 : c->unit == UNIT_PERCENT ? c->real : (double)c->number;
}

double named_number(const struct table *t, int row, const char *column)
{
    return named_value(named_cell(t, row, column));
}

const char *named_text(const struct table *t, int row, const char *column)
{
    const struct table_cell *c = named_cell(t, row, column);

    return c ? c->text : "";
}

/* From the last row up, so that each file's are in order. */
void named_rows_find(struct named_rows *r, const struct table *t)
{
    uint64_t first;

    r->next = memory_zeroed(((size_t)t->rows + 1) * sizeof(*r->next));
    for (int row = t->rows - 1; row >= 0; row--) {
        const struct table_cell *file = named_cell(t, row, "file");

        if (!file)
            continue;
        if (intmap_get(&r->firsts, (uintptr_t)file->text, &first))
            r->next[row] = (int)first;
        intmap_put(&r->firsts, (uintptr_t)file->text, (uint64_t)row + 1);
    }
}

int named_rows_first(const struct named_rows *r, const char *file)
{
    uint64_t first = 0;

    intmap_get(&r->firsts, (uintptr_t)file, &first);
    return (int)first;
}

void named_rows_free(struct named_rows *r)
{
    intmap_free(&r->firsts);
    free(r->next);
}
