/* unnamed_answer - see unnamed_answer.h. A frame without a name, or with the place where its
 * function begins for one, is in a stack, or in a text that begins with its module, as
 * table_frame_text writes it.
 */
#include "questions/unnamed_answer.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define MODULES_MOST 64 /* with a problem, that are looked for */

struct problem {
    const char *module, *base, *why;
    size_t length; /* of the base */
    bool shown;
};

static size_t read_problems(const struct frames *f, struct problem *list)
{
    size_t count = 0;

    for (size_t i = 1; i <= f->module_count && i < f->unnamed_room && count < MODULES_MOST; i++) {
        const char *module = f->modules[i];

        if (!module || !f->unnamed[i])
            continue;
        list[count] = (struct problem){module, text_base(module), f->unnamed[i], 0, false};
        list[count].length = strlen(list[count].base);
        count++;
    }
    return count;
}

static bool is_in_text(const struct problem *p, const char *text)
{
    text = text_base(text);
    return !strncmp(text, p->base, p->length) && !strncmp(text + p->length, "+0x", 3);
}

static bool is_unnamed(const struct table_frame *f)
{
    return !f->function || text_is_place(f->function, f->module);
}

static bool is_in_stack(const struct problem *p, const struct table_stack *s)
{
    for (; s; s = s->outer)
        for (int i = 0; i < s->own; i++)
            if (s->frames[i].module == p->module && is_unnamed(&s->frames[i]))
                return true;
    return false;
}

static bool is_in_table(const struct problem *p, const struct table *t)
{
    for (int row = 0; row < t->rows; row++)
        for (int column = 0; column < t->width; column++) {
            const struct table_cell *c = table_at(t, row, column);

            if (!c->present)
                continue;
            if (t->columns[column].unit == UNIT_STACK && is_in_stack(p, c->stack))
                return true;
            if (t->columns[column].unit == UNIT_TEXT && is_in_text(p, c->text))
                return true;
        }
    return false;
}

void unnamed_answer(struct answer *a, const struct frames *f)
{
    struct problem problems[MODULES_MOST];
    size_t count = read_problems(f, problems);

    a->unnamed = arena_alloc(a->arena, (count + 1) * sizeof(char *));
    for (size_t i = 0; i < count; i++)
        for (int t = 0; t < a->count && !problems[i].shown; t++)
            if (a->tables[t]->shape != TABLE_FACTS && is_in_table(&problems[i], a->tables[t])) {
                problems[i].shown = true;
                a->unnamed[a->unnamed_count++] = problems[i].why;
            }
}
