/* memscope_rows - see memscope.h: one row. */
#include "import/memscope.h"

#include "base/count.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is(struct memscope_text t, const char *text)
{
    return t.length == strlen(text) && memcmp(t.text, text, t.length) == 0;
}

/* Decimal, or 0x and hexadecimal; a sign is left aside, as older dumps have free sizes below 0. */
static bool number(struct memscope_text t, uint64_t *value)
{
    char text[24];
    char *end;

    if (t.length && *t.text == '-')
        t = (struct memscope_text){t.text + 1, t.length - 1};
    if (!t.length || t.length >= sizeof(text) || t.text[0] < '0' || t.text[0] > '9')
        return false;
    memcpy(text, t.text, t.length);
    text[t.length] = '\0';
    *value = strtoull(text, &end, text[1] == 'x' ? 16 : 10);
    return *end == '\0';
}

/* ---- attributes: {key:value,key:value}, or the same as JSON ---- */

static bool value_at(struct memscope_text attr, size_t at, struct memscope_text *value)
{
    size_t end;

    at += at < attr.length && attr.text[at] == '"';
    if (at >= attr.length || attr.text[at] != ':')
        return false;
    for (at++; at < attr.length && (attr.text[at] == ' ' || attr.text[at] == '"');)
        at++;
    for (end = at; end < attr.length && !memchr(",}\" ", attr.text[end], 4);)
        end++;
    *value = (struct memscope_text){attr.text + at, end - at};
    return true;
}

static bool attribute(struct memscope_text attr, const char *key, struct memscope_text *value)
{
    size_t length = strlen(key);

    for (size_t i = 1; i + length < attr.length; i++)
        if (memchr("{,\" ", attr.text[i - 1], 4) && memcmp(attr.text + i, key, length) == 0 &&
            value_at(attr, i + length, value))
            return true;
    return false;
}

static bool attribute_number(struct memscope_text attr, const char *key, uint64_t *value)
{
    struct memscope_text text;

    return attribute(attr, key, &text) && number(text, value);
}

/* ---- stacks: a line for each frame, the innermost first ---- */

/* "file(line): function" */
static uint64_t python_frame(struct intake *in, struct memscope_text line)
{
    uint64_t at = 0;
    size_t open, colon;

    for (colon = line.length; colon >= 3 && memcmp(line.text + colon - 3, "): ", 3) != 0;)
        colon--;
    if (colon < 3)
        return intake_frame(in, true, intake_text(in, line.text, line.length), 0, 0);
    for (open = colon - 3; open && line.text[open] != '(';)
        open--;
    number((struct memscope_text){line.text + open + 1, colon - 3 - open - (open < colon - 3)},
           &at);
    return intake_frame(in, true, intake_text(in, line.text + colon, line.length - colon),
                        intake_text(in, line.text, open), at);
}

/* "module(function+offset) [address]": the function may have arguments, and no offset. */
static uint64_t native_frame(struct intake *in, struct memscope_text line)
{
    const char *open = memchr(line.text, '(', line.length);
    size_t from = open ? (size_t)(open - line.text) + 1 : 0, to = line.length, offset;

    while (open && to > from && line.text[to - 1] != ')')
        to--;
    to -= open && to > from; /* that parenthesis */
    for (offset = to; offset > from && (offset == to || line.text[offset] != '+');)
        offset--;
    if (to - offset > 3 && memcmp(line.text + offset, "+0x", 3) == 0)
        to = offset;
    if (to == from) { /* no name: the module's */
        from = 0;
        to = open ? (size_t)(open - line.text) : line.length;
    }
    return intake_frame(in, false, intake_text(in, line.text + from, to - from), 0, 0);
}

/* On top of another one. Innermost first in the text: the last line is the outermost. */
static uint32_t stack_of(struct intake *in, uint32_t stack, struct memscope_text text, bool python)
{
    size_t end = text.length, frames = 0;

    for (size_t i = 0; i < text.length && frames < INTAKE_FRAMES_MOST; i++)
        if (text.text[i] == '\n' && ++frames == INTAKE_FRAMES_MOST)
            end = i;
    while (end) {
        size_t from = end;

        while (from && text.text[from - 1] != '\n')
            from--;
        if (end > from) {
            struct memscope_text line = {text.text + from, end - from};

            stack = intake_stack(in, stack,
                                 python ? python_frame(in, line) : native_frame(in, line));
        }
        end = from ? from - 1 : 0;
    }
    return stack;
}

static struct memscope_text bare(struct memscope_text t)
{
    while (t.length && memchr("\"\n ", t.text[0], 3))
        t = (struct memscope_text){t.text + 1, t.length - 1};
    while (t.length && memchr("\"\n\r ", t.text[t.length - 1], 4))
        t.length--;
    if (is(t, "NA") || is(t, "N/A"))
        t.length = 0;
    return t;
}

/* ---- rows ---- */

static const struct {
    const char *event, *type;
    enum memscope_event is;
} kinds[] = {
    {"MALLOC", NULL, MEMSCOPE_MALLOC},
    {"FREE", NULL, MEMSCOPE_FREE},
    {"OP_LAUNCH", "ATEN_START", MEMSCOPE_OP},
    {"OP_LAUNCH", "ATEN_END", MEMSCOPE_OP_END},
    {"OP_LAUNCH", "ATB_START", MEMSCOPE_OP},
    {"OP_LAUNCH", "ATB_END", MEMSCOPE_OP_END},
    {"MSTX", "Mark", MEMSCOPE_MARK},
    {"MSTX", "Range_start", MEMSCOPE_MARK},
    {"SYSTEM", "STEP", MEMSCOPE_STEP},
    {"SNAPSHOT", NULL, MEMSCOPE_MARK},
    {"OOM_DETAIL", "OOM_TRIGGER", MEMSCOPE_MARK},
};

static bool kind_of(const struct memscope_text c[], struct memscope_row *r)
{
    for (int i = 0; i < COUNT(kinds); i++)
        if (is(c[MEMSCOPE_EVENT], kinds[i].event) &&
            (!kinds[i].type || is(c[MEMSCOPE_TYPE], kinds[i].type))) {
            r->event = (uint8_t)kinds[i].is;
            return true;
        }
    return false;
}

/* Memory of the host is "cpu", in older dumps "host"; N/A: of no device. */
static uint32_t process_of(struct intake *in, uint64_t pid, struct memscope_text device)
{
    char name[64];
    uint64_t id;
    bool known = number(device, &id) && id < 1u << 16;

    if (known)
        snprintf(name, sizeof(name), "device %" PRIu64, id);
    else if (is(device, "cpu") || is(device, "host"))
        snprintf(name, sizeof(name), "host");
    else
        return 0;
    return intake_process(in, pid, known ? id + 1 : 0, name);
}

static bool take_block(struct memscope *m, const struct memscope_text c[], struct memscope_row *r)
{
    struct memscope_text attr = c[MEMSCOPE_ATTR], shadow;
    struct memscope_text python = bare(c[MEMSCOPE_PYTHON]), native = bare(c[MEMSCOPE_C]);

    if (!number(c[MEMSCOPE_PTR], &r->address) || !attribute_number(attr, "size", &r->bytes) ||
        (!r->process && r->event == MEMSCOPE_MALLOC))
        return false;
    r->driver = is(c[MEMSCOPE_TYPE], "HAL");
    r->pool = intake_text(m->in, c[MEMSCOPE_TYPE].text, c[MEMSCOPE_TYPE].length);
    r->sum_known = attribute_number(attr, "used", &r->used);
    r->shadow = attribute(attr, "shadow", &shadow) && is(shadow, "true");
    if (!attribute_number(attr, "allocation_id", &r->block))
        r->block = r->address;
    if (r->event == MEMSCOPE_MALLOC) /* what Python has called is within it */
        r->stack = stack_of(m->in, stack_of(m->in, 0, python, true), native, false);
    return true;
}

void memscope_take(struct memscope *m, const struct memscope_text c[MEMSCOPE_COLUMNS])
{
    struct memscope_row r = {0};
    struct memscope_text name = bare(c[MEMSCOPE_NAME]);
    bool block;

    if (!number(c[MEMSCOPE_ID], &r.id) || !number(c[MEMSCOPE_TIME], &r.time_ns) ||
        !number(c[MEMSCOPE_PID], &r.pid) || !number(c[MEMSCOPE_TID], &r.tid)) {
        m->odd++;
        return;
    }
    if (!kind_of(c, &r))
        return;
    r.process = process_of(m->in, r.pid, c[MEMSCOPE_DEVICE]);
    r.name = name.length ? intake_text(m->in, name.text, name.length)
                         : intake_text(m->in, c[MEMSCOPE_TYPE].text, c[MEMSCOPE_TYPE].length);
    if (r.event == MEMSCOPE_STEP && !number(name, &r.bytes))
        return;
    block = r.event == MEMSCOPE_MALLOC || r.event == MEMSCOPE_FREE;
    if (block && !take_block(m, c, &r)) {
        m->odd++;
        return;
    }
    memory_fit(m->rows, m->room, m->count + 1);
    m->rows[m->count++] = r;
}

void memscope_free(struct memscope *m)
{
    free(m->rows);
}
