/* dump - print a trace as JSON lines with the C reader: dump FILE [FROM_NS TO_NS].
 *
 * docs/tide.py prints the same bytes; the tests compare the two. What the reader says of the
 * trace's health goes to stderr as one more JSON line.
 */
#include "trace/batch.h"
#include "trace/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names of the fields, in the order of the structs of format.h. */
static const char *const field_names[TRACE_KIND_LAST + 1][TRACE_FIELDS_MOST] = {
    [TRACE_STRING] = {"string"},
    [TRACE_FACT] = {"subject", "id", "key"},
    [TRACE_PROCESS] = {"process", "parent", "pid", "start_ticks", "born", "name", "command"},
    [TRACE_PROCESS_END] = {"process", "end", "status"},
    [TRACE_THREAD] = {"thread", "process", "tid", "name"},
    [TRACE_THREAD_END] = {"thread"},
    [TRACE_SAMPLE] = {"subject", "id"},
    [TRACE_DEVICE] = {"device", "vendor", "name", "uuid"},
    [TRACE_MAP] = {"process", "start", "length", "offset", "protection", "file", "build_id"},
    [TRACE_UNMAP] = {"process", "start", "length"},
    [TRACE_FRAME] = {"frame", "flavour", "process", "address"},
    [TRACE_NAME] = {"frame", "depth", "function", "file", "line"},
    [TRACE_STACK] = {"stack", "parent", "frame"},
    [TRACE_ALLOC] = {"thread", "address", "bytes", "stack", "origin", "weight", "context"},
    [TRACE_FREE] = {"thread", "address", "origin", "later"},
    [TRACE_CPU] = {"thread", "stack", "ns", "cpu_kind"},
    [TRACE_WAIT] = {"thread", "stack", "ns", "cause"},
    [TRACE_REGION] = {"thread", "region", "name", "parent"},
    [TRACE_REGION_END] = {"thread", "region"},
    [TRACE_MARK] = {"thread", "mark_kind", "name", "value", "step"},
    [TRACE_LABEL] = {"thread", "key", "value"},
    [TRACE_SOURCE] = {"file", "line"},
    [TRACE_LOSS] = {"process", "what", "count", "bytes"},
    [TRACE_ALERT] = {"process", "metric", "limit", "value"},
    [TRACE_INFOS] = {"process", "first", "count"},
    [TRACE_BATCH] = {"process", "events", "span_ns"},
    [TRACE_MODULE] = {"module", "file", "build_id"},
    [TRACE_MMAP] = {"thread", "address", "bytes", "stack", "protection", "mmap_kind", "object",
                    "context"},
    [TRACE_MUNMAP] = {"thread", "address", "bytes"},
    [TRACE_STACKS] = {"first", "count"},
    [TRACE_COPY] = {"thread", "stack", "bytes", "weight"},
    [TRACE_UNREACHED] = {"process", "info", "blocks"},
    [TRACE_CONTEXT] = {"context", "process", "step"},
    [TRACE_INFO_CONTEXT] = {"process", "context", "first", "count"},
    [TRACE_RESIDENT] = {"process", "address", "bytes", "resident", "stack", "memory"},
    [TRACE_SPACE] = {"space", "name", "space_kind"},
    [TRACE_SPACE_ALLOC] = {"thread", "block", "bytes", "stack", "space", "call", "context",
                           "address"},
    [TRACE_SPACE_FREE] = {"thread", "block", "space", "later"},
    [TRACE_SPACE_FAILED] = {"thread", "bytes", "stack", "space", "call", "status", "times"},
    [TRACE_LAUNCHES] = {"thread", "stack", "call", "count", "given", "read", "written"},
    [TRACE_DESCRIBED] = {"thread", "address", "what", "name", "info"},
    [TRACE_OP] = {"thread", "name"},
    [TRACE_OP_END] = {"thread"},
    [TRACE_STARTED] = {"thread", "pid", "stack"},
    [TRACE_ACCESS] = {"thread", "address", "bytes", "access_kind", "name", "space"},
    [TRACE_POOL] = {"thread", "address", "bytes", "blocks", "used", "largest_free", "requested"},
    [TRACE_WATCH] = {"thread", "address", "watch_kind", "name", "bytes", "stack"},
};

static const char *const metric_names[METRIC_END] = {
#define X(name, number, text, unit, cumulative) [number] = text,
    TRACE_METRICS(X)
#undef X
};

/* The length of the UTF-8 character at p and its code point; 0 when it is none. */
static size_t utf8_at(const unsigned char *p, size_t left, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = *p < 0x80 ? 1 : *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : *p >= 0xc0 ? 2 : 0;

    if (n == 0 || n > left || *p >= 0xf8)
        return 0;
    *code = n == 1 ? *p : *p & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (p[i] & 0x3f);
    }
    return *code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000) ? 0 : n;
}

static void print_code(uint32_t code)
{
    static const char letters[] = "\b\t\n\f\r\"\\", names[] = "btnfr\"\\";
    const char *letter = code && code < 0x80 ? strchr(letters, (int)code) : NULL;

    if (letter)
        printf("\\%c", names[letter - letters]);
    else if (code >= 0x20 && code < 0x7f)
        putchar((int)code);
    else if (code < 0x10000)
        printf("\\u%04x", code);
    else
        printf("\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
}

/* As Python's json.dumps of text decoded with "surrogateescape": a byte that is not UTF-8 becomes
 * U+DC80..U+DCFF.
 */
static void print_text(const unsigned char *p, size_t size)
{
    putchar('"');
    while (size) {
        uint32_t code;
        size_t n = utf8_at(p, size, &code);

        print_code(n ? code : 0xdc00u + *p);
        n += n == 0;
        p += n;
        size -= n;
    }
    putchar('"');
}

static void print_pairs(struct trace_event *ev)
{
    struct trace_pair pair;
    const char *comma = "";

    printf(", \"pairs\": [");
    for (; trace_next_pair(ev, &pair); comma = ", ") {
        const char *name = pair.metric < METRIC_END ? metric_names[pair.metric] : NULL;

        if (name)
            printf("%s[\"%s\", %" PRIu64 "]", comma, name, pair.value);
        else
            printf("%s[%" PRIu64 ", %" PRIu64 "]", comma, pair.metric, pair.value);
    }
    putchar(']');
}

static void print_numbers(const char *comma, const uint64_t *numbers, size_t count)
{
    printf("%s[", comma);
    for (size_t i = 0; i < count; i++)
        printf("%s%" PRIu64, i ? ", " : "", numbers[i]);
    putchar(']');
}

static void end_list(bool malformed)
{
    printf("]%s", malformed ? ", \"malformed\": true" : "");
}

static void print_labels(struct trace_event *ev)
{
    struct trace_pair pair;
    const char *comma = "";

    printf(", \"labels\": [");
    for (; trace_next_pair(ev, &pair); comma = ", ")
        print_numbers(comma, (uint64_t[]){pair.metric, pair.value}, 2);
    end_list(ev->tail_bytes > 0);
}

static void print_stacks(const struct trace_event *ev)
{
    const unsigned char *tail = ev->tail;
    size_t size = ev->tail_bytes;
    uint64_t next = ev->stacks.first;
    struct trace_stack stack;
    const char *comma = "";

    printf(", \"stacks\": [");
    for (; batch_next_stack(&tail, &size, &next, &stack); comma = ", ")
        print_numbers(comma, (uint64_t[]){stack.stack, stack.parent, stack.frame}, 3);
    end_list(size > 0);
}

static void print_infos(const struct trace_event *ev)
{
    const unsigned char *tail = ev->tail;
    size_t size = ev->tail_bytes;
    struct batch_info info = {.info = ev->infos.first - 1};
    const char *comma = "";

    printf(", \"infos\": [");
    for (; batch_next_info(&tail, &size, &info); comma = ", ")
        print_numbers(comma, (uint64_t[]){info.info, info.bytes, info.stack, info.origin}, 4);
    end_list(size > 0);
}

static void print_batch(const struct trace_event *ev)
{
    static const char *const ops[] = {"alloc", "free", "unfree"};
    struct batch_reader r;
    struct batch_event e;
    const char *comma = "";
    int got = batch_open(&r, ev->tail, ev->tail_bytes, ev->time_ns, ev->batch.span_ns);

    printf(", \"batch\": [");
    for (; got >= 0 && (got = batch_next(&r, &e)) > 0; comma = ", ") {
        printf("%s[\"%s\", %" PRIu64 ", %" PRIu64 ", %" PRIu64, comma, ops[e.op], e.time_ns,
               e.thread, e.info);
        if (e.op != BATCH_ALLOC)
            printf(", %d, %d", e.later_allocs, e.lived);
        putchar(']');
    }
    end_list(got < 0);
}

static void print_bytes(const struct trace_event *ev)
{
    if (ev->kind == TRACE_STACKS) {
        print_stacks(ev);
    } else if (ev->kind == TRACE_INFOS) {
        print_infos(ev);
    } else if (ev->kind == TRACE_BATCH) {
        print_batch(ev);
    } else {
        printf(", \"text\": ");
        print_text(ev->tail, ev->tail_bytes);
    }
}

static void print_event(struct trace_event *ev)
{
    const struct trace_shape *shape = trace_shape_of(ev->kind);

    printf("{\"kind\": \"%s\"", shape->name);
    if (shape->timed)
        printf(", \"time_ns\": %" PRIu64, ev->time_ns);
    for (unsigned int i = 0; i < ev->present; i++)
        printf(", \"%s\": %" PRIu64, field_names[ev->kind][i], ev->fields[i]);
    if (ev->kind == TRACE_CONTEXT)
        print_labels(ev);
    else if (shape->tail == TRACE_TAIL_PAIRS)
        print_pairs(ev);
    if (shape->tail == TRACE_TAIL_BYTES)
        print_bytes(ev);
    puts("}");
}

int main(int argc, char **argv)
{
    struct trace_event ev;
    struct trace_health health;
    struct err err;
    struct trace *t;

    if (argc != 2 && argc != 4) {
        fputs("usage: dump FILE [FROM_NS TO_NS]\n", stderr);
        return 2;
    }
    t = trace_open(argv[1], &err);
    if (!t) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    if (argc == 4)
        trace_rewind(t, strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
    while (trace_next(t, &ev))
        print_event(&ev);
    health = trace_health(t);
    fprintf(stderr,
            "{\"complete\": %s, \"cut\": %s, \"damaged\": %" PRIu64 ", \"damaged_bytes\": %" PRIu64
            "}\n",
            health.complete ? "true" : "false", health.cut ? "true" : "false", health.damaged,
            health.damaged_bytes);
    trace_close(t);
    return 0;
}
