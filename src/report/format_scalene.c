/* format_scalene - a profile as Scalene writes it, for its viewer: `scalene view profile.json`.
 *
 * Its units: MB are MiB, percents are of all CPU time, times of `memory_samples` are ns. A number
 * that its schema demands and a recording does not have (use of cores and of GPUs, regions of
 * source) is its neutral value: 0, or the line itself. Every line of a file is there, as in
 * Scalene's own.
 */
#include "base/clock.h"
#include "base/emit.h"
#include "base/text.h"
#include "report/formats.h"
#include "report/named.h"

#include <string.h>

#define MIB 1048576.0

#define EMPTY_MOST 100000u
#define FILLERS_MOST(file_bytes) (((uint64_t)1 << 17) + (file_bytes) / 4)

struct profile {
    struct emit j;
    const struct answer *answer;
    const struct table *facts, *files, *lines, *functions;
    double seconds, allocated; /* of the whole program */
    uint64_t empty;            /* lines without text that were written, */
    uint64_t fillers;          /* and lines that cost nothing */
    struct named_rows of_lines, of_functions;
};

static void put_real(struct profile *p, const char *key, double value)
{
    emit_key(&p->j, key);
    emit_real(&p->j, value);
}

static void put_number(struct profile *p, const char *key, uint64_t value)
{
    emit_key(&p->j, key);
    emit_number(&p->j, value);
}

static void put_text(struct profile *p, const char *key, const char *text)
{
    emit_key(&p->j, key);
    emit_text(&p->j, text);
}

static void put_empty(struct profile *p, const char *key, const char *brackets)
{
    emit_key(&p->j, key);
    emit_open(&p->j, brackets[0]);
    emit_close(&p->j, brackets[1]);
}

/* ---- a line or a function ---- */

static void put_samples(struct profile *p, const char *key, const struct table_series *s)
{
    emit_key(&p->j, key);
    emit_open(&p->j, '[');
    for (int i = 0; s && i < s->count; i++) {
        emit_open(&p->j, '[');
        emit_number(&p->j, s->from_ns + s->step_ns * ((uint64_t)i + 1));
        emit_real(&p->j, (double)s->bytes[i] / MIB);
        emit_close(&p->j, ']');
    }
    emit_close(&p->j, ']');
}

static void put_memory(struct profile *p, const struct table *t, int row)
{
    const struct table_cell *memory = named_cell(t, row, "memory");
    const struct table_series *s = memory ? memory->series : NULL;
    double allocated = named_number(t, row, "allocated"), sum = 0,
           peak = named_number(t, row, "at_peak");

    for (int i = 0; s && i < s->count; i++) {
        sum += (double)s->bytes[i];
        peak = (double)s->bytes[i] > peak ? (double)s->bytes[i] : peak;
    }
    put_real(p, "n_malloc_mb", allocated / MIB);
    put_number(p, "n_mallocs", text_rounded(named_number(t, row, "blocks")));
    put_real(p, "n_avg_mb", s && s->count ? sum / s->count / MIB : 0);
    put_real(p, "n_peak_mb", peak / MIB);
    put_real(p, "n_growth_mb", peak / MIB);
    put_real(p, "n_usage_fraction", p->allocated > 0 ? allocated / p->allocated : 0);
    put_real(p, "n_python_fraction", named_number(t, row, "python_percent") / 100);
    put_real(p, "n_copy_mb_s",
             p->seconds > 0 ? named_number(t, row, "copied") / MIB / p->seconds : 0);
    put_samples(p, "memory_samples", s);
}

/* Row -1: a line of which nothing is known. */
static void put_costs(struct profile *p, const struct table *t, int row)
{
    static const char *const kinds[][2] = {{"n_cpu_percent_python", "python"},
                                           {"n_cpu_percent_c", "native"},
                                           {"n_sys_percent", "system"}};
    double percent = named_number(t, row, "cpu_percent"), cpu = named_number(t, row, "cpu");

    for (int i = 0; i < 3; i++)
        put_real(p, kinds[i][0], cpu > 0 ? named_number(t, row, kinds[i][1]) / cpu * percent : 0);
    put_number(p, "n_core_utilization", 0);
    put_real(p, "n_gpu_percent", named_number(t, row, "device_percent"));
    put_number(p, "n_gpu_avg_memory_mb", 0);
    put_real(p, "n_gpu_peak_memory_mb", named_number(t, row, "device_most") / MIB);
    put_empty(p, "cpu_samples_list", "[]");
    put_memory(p, t, row);
}

/* As Scalene protects its page: three characters as the texts of their codes. */
static const char *guarded(struct arena *a, const char *text)
{
    char *out = arena_alloc(a, strlen(text) * 6 + 2), *to = out;

    for (; *text; text++) {
        if (strchr("<>&", *text))
            to = stpcpy(to, *text == '<' ? "\\u003c" : *text == '>' ? "\\u003e" : "\\u0026");
        else
            *to++ = *text;
    }
    memcpy(to, "\n", 2);
    return out;
}

static void put_line(struct profile *p, int row, uint64_t line, const char *text)
{
    static const char *const places[] = {"start_region_line", "end_region_line",
                                         "start_outermost_loop", "end_outermost_loop"};
    struct arena scratch = {0};

    emit_open(&p->j, '{');
    p->j.flat = true;
    put_text(p, "line", guarded(&scratch, text ? text : ""));
    put_number(p, "lineno", line);
    put_costs(p, p->lines, row);
    for (int i = 0; i < 4; i++)
        put_number(p, places[i], line);
    emit_close(&p->j, '}');
    p->j.flat = false;
    arena_free(&scratch);
}

/* ---- files ---- */

/* A line between those that cost something. A file may be said to have a last line and hardly any
 * others: of what has no text, only so much is written.
 */
static void put_filler(struct profile *p, const struct table_source *source, uint64_t line)
{
    const char *text = table_source_line(source, line);

    if ((text || p->empty++ < EMPTY_MOST) && p->fillers++ < FILLERS_MOST(p->answer->file_bytes))
        put_line(p, -1, line, text);
}

static void put_lines(struct profile *p, const char *file)
{
    const struct table_source *source = answer_source(p->answer, file);
    uint64_t next = 1;

    emit_key(&p->j, "lines");
    emit_open(&p->j, '[');
    for (int at = named_rows_first(&p->of_lines, file); at; at = p->of_lines.next[at - 1]) {
        int row = at - 1;
        uint64_t line = text_rounded(named_number(p->lines, row, "line"));

        if (!line)
            continue;
        for (; source && next < line && next <= source->lines; next++)
            put_filler(p, source, next);
        put_line(p, row, line, table_source_line(source, line));
        next = line + 1;
    }
    for (; source && next <= source->lines; next++)
        put_filler(p, source, next);
    emit_close(&p->j, ']');
}

static void put_functions(struct profile *p, const char *file)
{
    emit_key(&p->j, "functions");
    emit_open(&p->j, '[');
    for (int at = named_rows_first(&p->of_functions, file); at; at = p->of_functions.next[at - 1]) {
        int row = at - 1;
        uint64_t line = text_rounded(named_number(p->functions, row, "line"));

        emit_open(&p->j, '{');
        p->j.flat = true;
        put_text(p, "line", named_text(p->functions, row, "function"));
        put_number(p, "lineno", line ? line : 1);
        put_costs(p, p->functions, row);
        emit_close(&p->j, '}');
        p->j.flat = false;
    }
    emit_close(&p->j, ']');
}

static void put_files(struct profile *p)
{
    emit_key(&p->j, "files");
    emit_open(&p->j, '{');
    for (int row = 0; row < p->files->rows; row++) {
        const char *file = named_text(p->files, row, "file");

        if (!named_cell(p->files, row, "lines")) /* it stands for many */
            continue;
        emit_key(&p->j, file);
        emit_open(&p->j, '{');
        put_real(p, "percent_cpu_time", named_number(p->files, row, "cpu_percent"));
        put_lines(p, file);
        put_functions(p, file);
        put_empty(p, "leaks", "{}");
        put_empty(p, "imports", "[]");
        emit_close(&p->j, '}');
    }
    emit_close(&p->j, '}');
}

/* ---- the whole ---- */

/* When it began, in whole seconds since 1970. */
static double started(const struct profile *p)
{
    const struct table_cell *c = table_find_fact(p->facts, "started");
    uint64_t seconds = c ? c->number / CLOCK_SECOND_NS : 0;

    return (double)seconds;
}

/* The command's words; the script is the first that ends as one does. */
static void put_command(struct profile *p)
{
    const struct table_cell *c = table_find_fact(p->facts, "command");
    struct arena scratch = {0};
    const char *program = c ? c->text : "", *slash;
    bool found = false;

    emit_key(&p->j, "args");
    emit_open(&p->j, '[');
    for (const char *at = c ? c->text : ""; *at; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        const char *word = arena_strndup(&scratch, at, n);

        emit_text(&p->j, word);
        if (!found && n > 3 && strcmp(word + n - 3, ".py") == 0) {
            program = word;
            found = true;
        }
        at += n;
    }
    emit_close(&p->j, ']');
    slash = strrchr(program, '/');
    put_text(p, "program", program);
    put_text(p, "filename", program);
    put_text(p, "entrypoint_dir",
             slash ? arena_strndup(&scratch, program, (size_t)(slash - program)) : ".");
    arena_free(&scratch);
}

/* The row that held most at the peak; -1: none. What part of the peak was Python's, by line. */
static int largest(const struct profile *p, double *python)
{
    double most = 0, all = 0, part = 0;
    int best = -1;

    for (int row = 0; row < p->lines->rows; row++) {
        double held = named_number(p->lines, row, "at_peak");

        all += held;
        part += held * named_number(p->lines, row, "python_percent") / 100;
        if (named_cell(p->lines, row, "line") && held > most) {
            most = held;
            best = row;
        }
    }
    *python = all > 0 ? part / all : 0;
    return best;
}

static void put_footprint(struct profile *p)
{
    const struct table_cell *series = table_find_fact(p->facts, "live_heap");
    double python, alive = named_value(table_find_fact(p->facts, "alive_at_end")), native = 0;
    int best = largest(p, &python);

    for (int row = 0; row < p->lines->rows; row++)
        if (!named_cell(p->lines, row, "line"))
            native += named_number(p->lines, row, "allocated");
    put_number(p, "alloc_samples",
               text_rounded(named_value(table_find_fact(p->facts, "allocations"))));
    put_real(p, "growth_rate", p->allocated > 0 ? alive / p->allocated * 100 : 0);
    put_real(p, "max_footprint_mb", named_value(table_find_fact(p->facts, "peak_heap")) / MIB);
    put_real(p, "max_footprint_python_fraction", python);
    put_text(p, "max_footprint_fname", best < 0 ? NULL : named_text(p->lines, best, "file"));
    emit_key(&p->j, "max_footprint_lineno");
    if (best < 0)
        emit_null(&p->j);
    else
        emit_number(&p->j, text_rounded(named_number(p->lines, best, "line")));
    put_real(p, "native_allocations_mb", native / MIB);
    emit_key(&p->j, "memory");
    emit_bool(&p->j, series != NULL);
    put_samples(p, "samples", series ? series->series : NULL);
}

static void write_scalene(const struct answer *a, FILE *out)
{
    static const char *const lists[] = {"stacks", "memory_stacks", "combined_stacks",
                                        "combined_stacks_timeline"};
    struct profile p = {
        .j = {.out = out, .first = true},
        .answer = a,
        .facts = named_table(a, "facts"),
        .files = named_table(a, "files"),
        .lines = named_table(a, "lines"),
        .functions = named_table(a, "functions"),
    };

    p.seconds = named_value(table_find_fact(p.facts, "duration")) / 1e9;
    p.allocated = named_value(table_find_fact(p.facts, "heap_allocated"));
    emit_open(&p.j, '{');
    put_command(&p);
    put_real(&p, "elapsed_time_sec", p.seconds);
    put_real(&p, "start_time_absolute", started(&p));
    put_number(&p, "start_time_perf", 0);
    put_footprint(&p);
    emit_key(&p.j, "gpu");
    emit_bool(&p.j, table_find_fact(p.facts, "device_time") != NULL);
    put_text(&p, "gpu_device", "");
    emit_key(&p.j, "async_profile");
    emit_bool(&p.j, false);
    for (int i = 0; i < 4; i++)
        put_empty(&p, lists[i], "[]");
    named_rows_find(&p.of_lines, p.lines);
    named_rows_find(&p.of_functions, p.functions);
    put_files(&p);
    named_rows_free(&p.of_lines);
    named_rows_free(&p.of_functions);
    emit_close(&p.j, '}');
    fputc('\n', out);
}

const struct format format_scalene = {
    .name = "scalene",
    .summary = "a profile for the viewer of Scalene",
    .question = "lines",
    .write = write_scalene,
};
