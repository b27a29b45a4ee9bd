/* space_kernels - see space_kernels.h. */
#include "questions/space_kernels.h"

#include "base/count.h"

#define KERNELS_MOST 4096
#define FIELDS_GIVEN 7 /* of a LAUNCHES that knows it */

enum { KERNEL, LAUNCHES, EACH, GIVEN, READ, WRITTEN };

static const struct table_column columns[] = {
    [KERNEL] = {"kernel", UNIT_TEXT},    [LAUNCHES] = {"launches", UNIT_COUNT},
    [EACH] = {"given_each", UNIT_BYTES}, [GIVEN] = {"given", UNIT_BYTES},
    [READ] = {"may_read", UNIT_BYTES},   [WRITTEN] = {"may_write", UNIT_BYTES},
};

static struct space_kernel *find(struct space_kernels *k, struct arena *a, uint64_t call)
{
    for (size_t i = 0; i < k->count; i++)
        if (k->list[i].call == call)
            return &k->list[i];
    if (k->count == KERNELS_MOST)
        return NULL;
    arena_fit(a, k->list, k->room, k->count + 1);
    k->list[k->count] = (struct space_kernel){.call = call};
    return &k->list[k->count++];
}

void space_kernels_take(struct space_kernels *k, struct arena *a, const struct trace_event *ev)
{
    const struct trace_launches *l = &ev->launches;
    struct space_kernel *one = find(k, a, l->call);

    if (!one)
        return;
    one->count += l->count;
    if (ev->present < FIELDS_GIVEN)
        return;
    one->known += l->count;
    one->given += l->given;
    one->read += l->read;
    one->written += l->written;
}

void space_kernels_add(const struct space_kernels *k, const struct names *n, struct answer *a)
{
    struct table *t = answer_add(a, "kernels", TABLE_ROWS, columns, COUNT(columns));

    for (size_t i = 0; i < k->count; i++) {
        const struct space_kernel *one = &k->list[i];
        struct table_cell *c = table_add(a, t);

        cell_text(&c[KERNEL], names_get(n, one->call));
        cell_number(&c[LAUNCHES], one->count);
        if (!one->known)
            continue;
        cell_number(&c[EACH], one->given / one->known);
        cell_number(&c[GIVEN], one->given);
        cell_number(&c[READ], one->read);
        cell_number(&c[WRITTEN], one->written);
        t->note =
            "given: bytes of all objects that a kernel had as arguments, over all launches; may_read and "
            "may_write: what it may have read and written of them at most, by how they are declared.";
    }
    table_sort(t, LAUNCHES);
}
