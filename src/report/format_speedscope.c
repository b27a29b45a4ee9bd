/* format_speedscope - stacks for speedscope (npm's, or its page): one profile of weighted stacks
 * for each sum that the table has. See stack_tree.h for which frames are there.
 */
#include "base/emit.h"
#include "base/memory.h"
#include "report/formats.h"
#include "report/stack_tree.h"

#include <stdlib.h>

static void put_frames(struct emit *j, const struct stack_tree *t)
{
    emit_open(j, '[');
    for (size_t i = 1; i <= t->frame_count; i++) {
        const struct table_frame *f = t->frames[i];
        struct arena scratch = {0};

        emit_open(j, '{');
        emit_key(j, "name");
        emit_text(j, stack_frame_name(&scratch, f));
        if (f->file || f->module) {
            emit_key(j, "file");
            emit_text(j, f->file ? f->file : f->module);
        }
        if (f->line) {
            emit_key(j, "line");
            emit_number(j, f->line);
        }
        emit_close(j, '}');
        arena_free(&scratch);
    }
    emit_close(j, ']');
}

static void put_sample(struct emit *j, const struct stack_tree *t, uint32_t node, uint32_t *path)
{
    size_t count = 0;

    for (; node; node = t->nodes[node].parent)
        path[count++] = t->nodes[node].frame;
    emit_open(j, '[');
    while (count--)
        emit_number(j, path[count] - 1);
    emit_close(j, ']');
}

static const char *unit_of(enum table_unit unit)
{
    return unit == UNIT_BYTES ? "bytes" : unit == UNIT_NS ? "nanoseconds" : "none";
}

static void put_profile(struct emit *j, const struct stack_tree *t, int value, uint32_t *path)
{
    const struct table_column *column = &t->table->columns[t->columns[value]];

    emit_open(j, '{');
    emit_key(j, "type");
    emit_text(j, "sampled");
    emit_key(j, "name");
    emit_text(j, column->name);
    emit_key(j, "unit");
    emit_text(j, unit_of(column->unit));
    emit_key(j, "startValue");
    emit_number(j, 0);
    emit_key(j, "endValue");
    emit_number(j, t->nodes[0].all[value]);
    emit_key(j, "samples");
    emit_open(j, '[');
    for (uint32_t n = 1; n < t->count; n++)
        if (t->nodes[n].own[value])
            put_sample(j, t, n, path);
    emit_close(j, ']');
    emit_key(j, "weights");
    emit_open(j, '[');
    for (uint32_t n = 1; n < t->count; n++)
        if (t->nodes[n].own[value])
            emit_number(j, t->nodes[n].own[value]);
    emit_close(j, ']');
    emit_close(j, '}');
}

static void write_speedscope(const struct answer *a, FILE *out)
{
    struct emit j = {.out = out, .first = true, .flat = true};
    struct stack_tree t;
    uint32_t *path;

    if (!stack_tree_make(&t, a)) {
        stack_tree_free(&t);
        return;
    }
    path = memory_zeroed(t.count * sizeof(*path));
    emit_open(&j, '{');
    emit_key(&j, "$schema");
    emit_text(&j, "https://www.speedscope.app/file-format-schema.json");
    emit_key(&j, "exporter");
    emit_text(&j, "tidemark " TIDEMARK_VERSION);
    emit_key(&j, "name");
    emit_text(&j, a->question);
    emit_key(&j, "shared");
    emit_open(&j, '{');
    emit_key(&j, "frames");
    put_frames(&j, &t);
    emit_close(&j, '}');
    emit_key(&j, "profiles");
    emit_open(&j, '[');
    for (int i = 0; i < t.values; i++)
        if (t.nodes[0].all[i])
            put_profile(&j, &t, i, path);
    emit_close(&j, ']');
    emit_close(&j, '}');
    fputc('\n', out);
    free(path);
    stack_tree_free(&t);
}

const struct format format_speedscope = {
    .name = "speedscope",
    .summary = "stacks for speedscope, a profile for each measure",
    .stacks = true,
    .write = write_speedscope,
};
