/* devices - which accelerators are there, by which way they are read, and why others are not. */
#include "base/clock.h"
#include "base/count.h"
#include "base/memory.h"
#include "cli/command.h"
#include "cli/output.h"
#include "devices/devices.h"

#include <stdlib.h>
#include <string.h>

#define PATIENCE_NS 12000000000u

static const char *format_name = "text", *output;

static const struct option options[] = {
    {'f', "format", "FORMAT", &format_name, NULL, "How to write the list (default: text)", NULL,
     NULL, formats_of_any},
    {'o', "output", "FILE", &output, NULL, "Write it to FILE instead of standard output", NULL,
     NULL},
    {0},
};

enum { DEVICE, NAME, USED, TOTAL, RESERVED, BUSY, BUS, ID, CUDA, WAY, NOTE };

static const struct table_column columns[] = {
    [DEVICE] = {"device", UNIT_TEXT},
    [NAME] = {"name", UNIT_TEXT},
    [USED] = {"used", UNIT_BYTES},
    [TOTAL] = {"total", UNIT_BYTES},
    [RESERVED] = {"reserved", UNIT_BYTES, .detail = true},
    [BUSY] = {"busy_percent", UNIT_PERCENT, .detail = true},
    [BUS] = {"bus", UNIT_TEXT, .detail = true},
    [ID] = {"id", UNIT_TEXT, .detail = true},
    [CUDA] = {"cuda_device", UNIT_ID, .detail = true},
    [WAY] = {"way", UNIT_TEXT},
    [NOTE] = {"note", UNIT_TEXT},
};

struct list {
    struct answer *answer;
    struct table *table;
    bool any[DEVICE_KIND_COUNT];
};

static void text(struct list *l, struct table_cell *c, const char *from)
{
    cell_text(c, from[0] ? arena_strndup(l->answer->arena, from, strlen(from)) : NULL);
}

static void found(void *context, const struct device *d)
{
    struct list *l = context;
    struct table_cell *c = table_add(l->answer, l->table);

    l->any[d->kind - device_kinds] = true;
    text(l, &c[DEVICE], d->label);
    text(l, &c[NAME], d->told.name);
    text(l, &c[BUS], d->told.bus);
    text(l, &c[ID], d->told.id);
    text(l, &c[WAY], d->told.way);
    text(l, &c[NOTE], d->told.note);
    if (d->cuda >= 0)
        cell_number(&c[CUDA], (uint64_t)d->cuda);
}

static void number(struct table_cell *c, uint64_t value)
{
    if (value != ABSENT)
        cell_number(c, value);
}

static void read_device(void *context, const struct device *d, const struct wire_reading *r)
{
    const struct list *l = context;
    struct table_cell *c = l->table->cells + (size_t)(d->number - 1) * COUNT(columns);

    number(&c[USED], r->used);
    number(&c[TOTAL], r->total);
    number(&c[RESERVED], r->reserved);
    if (r->busy != ABSENT)
        cell_real(&c[BUSY], (double)r->busy / 10);
}

static void used(void *context, const struct device *d, const struct wire_use *u)
{
    (void)context, (void)d, (void)u; /* nobody was asked about */
}

/* The note of a kind begins with its name. */
static const char *why_not(const struct devices *d, struct arena *a, const struct device_kind *k)
{
    size_t length = strlen(k->name);
    const char *note;

    if (!device_kind_likely(k))
        return arena_printf(a, "no sign of one, such as %s/%s", device_root(), k->signs[0]);
    for (size_t i = 0; (note = devices_note(d, i)); i++)
        if (!strncmp(note, k->name, length) && note[length] == ':')
            return arena_strndup(a, note + length + 2, strlen(note + length + 2));
    return "it did not answer";
}

static void add_missing(const struct list *l, const struct devices *d)
{
    struct table *t = answer_facts(l->answer, "not_found");
    struct arena *arena = l->answer->arena;

    for (int i = 0; i < DEVICE_KIND_COUNT; i++) {
        const struct device_kind *k = &device_kinds[i];

        if (!l->any[i])
            cell_text(
                table_fact(l->answer, t, k->name, UNIT_TEXT),
                arena_printf(arena, "%s, by %s: %s", k->vendor, k->way, why_not(d, arena, k)));
    }
}

static void ask(struct list *l)
{
    const struct devices_sink sink = {l, found, read_device, used};
    const struct device_choice all = {.all = true};
    struct devices *d = devices_begin(&all, &sink, clock_ns(CLOCK_MONOTONIC));

    devices_wait(d, PATIENCE_NS, -1);
    devices_stop(d, clock_ns(CLOCK_MONOTONIC));
    if (!l->table->rows)
        l->table->note = "No accelerator was found.";
    add_missing(l, d);
    devices_free(d);
}

static int run(int argc, char **argv, struct err *err)
{
    static const char *const none[] = {NULL};
    int operands = options_parse(options, argc, argv, true, err), status;
    struct arena arena = {0};
    struct answer a = {.arena = &arena, .question = "devices"};
    struct list l = {.answer = &a};

    if (operands < 0)
        return -1;
    if (operands)
        return err_code(err, EXIT_USAGE, "devices takes no operand, but '%s' was given", argv[1]);
    l.table = answer_add(&a, "devices", TABLE_ROWS, columns, COUNT(columns));
    ask(&l);
    status = output_write(format_find(format_name), &a, output, none, err);
    arena_free(&arena);
    return status < 0 ? -1 : EXIT_OK;
}

static const struct command_exit exits[] = {
    {"0", "the list was written, whether or not a device was found"},
    {"1", "the list could not be written"},
    {"2", "the options are wrong"},
    {NULL, NULL},
};

const struct command cmd_devices = {
    .name = "devices",
    .operands = "",
    .summary = "List the accelerators whose memory can be read, and why others cannot be",
    .description =
        "Lists accelerators, such as GPUs and NPUs, with their memory as it is now, their names for --device of 'run', 'record' and 'attach', and how they are read. A vendor's library is loaded by a process of its own, which may crash or hang without harm; a kind that is not found is listed with the reason.\n\nTIDEMARK_DEVICE_ROOT names the folder that holds the host's /dev, /proc and /sys, where a container has them elsewhere.",
    .examples =
        "tidemark devices\n    what is there\ntidemark devices -f json\n    the same for programs\n",
    .options = options,
    .exits = exits,
    .run = run,
};
