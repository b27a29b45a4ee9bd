/* format_scalene - a profile as Scalene writes it, for its viewer: `scalene view profile.json`.
 *
 * Its units: MB are MiB, percents are of all CPU time, times of `memory_samples` are ns. A number that
 * its schema demands and a recording does not have (use of cores and of GPUs, regions of source) is
 * its neutral value: 0, or the line itself. Every line of a file is there, as in Scalene's own.
 */
#include "base/emit.h"
#include "report/formats.h"

#include <string.h>
#include <time.h>

#define MIB 1048576.0

struct profile {
    struct emit j;
    const struct answer *answer;
    const struct table *facts, *files, *lines, *functions;
    double seconds, allocated; /* of the whole program */
};

static const struct table *table_of(const struct answer *a, const char *name)
{
    static const struct table none = {.shape = TABLE_ROWS};

    for (int i = 0; i < a->count; i++)
        if (strcmp(a->tables[i]->name, name) == 0)
            return a->tables[i];
    return &none;
}

/* NULL where it is absent. */
static const struct table_cell *cell_of(const struct table *t, int row, const char *column)
{
    for (int i = 0; row >= 0 && i < t->width; i++)
        if (strcmp(t->columns[i].name, column) == 0) {
            const struct table_cell *c = &t->cells[(size_t)row * (size_t)t->width + (size_t)i];

            return c->present ? c : NULL;
        }
    return NULL;
}

static double value_of(const struct table_cell *c)
{
    return !c ? 0 : c->unit == UNIT_PERCENT ? c->real : (double)c->number;
}

static double number_of(const struct table *t, int row, const char *column)
{
    return value_of(cell_of(t, row, column));
}

static const char *text_of(const struct table *t, int row, const char *column)
{
    const struct table_cell *c = cell_of(t, row, column);

    return c ? c->text : "";
}

static const struct table_cell *fact_of(const struct profile *p, const char *name)
{
    for (int i = 0; i < p->facts->rows; i++)
        if (strcmp(p->facts->cells[i * 2].text, name) == 0)
            return p->facts->cells[i * 2 + 1].present ? &p->facts->cells[i * 2 + 1] : NULL;
    return NULL;
}

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
    const struct table_cell *memory = cell_of(t, row, "memory");
    const struct table_series *s = memory ? memory->series : NULL;
    double allocated = number_of(t, row, "allocated"), sum = 0, peak = number_of(t, row, "at_peak");

    for (int i = 0; s && i < s->count; i++) {
        sum += (double)s->bytes[i];
        peak = (double)s->bytes[i] > peak ? (double)s->bytes[i] : peak;
    }
    put_real(p, "n_malloc_mb", allocated / MIB);
    put_number(p, "n_mallocs", (uint64_t)number_of(t, row, "blocks"));
    put_real(p, "n_avg_mb", s && s->count ? sum / s->count / MIB : 0);
    put_real(p, "n_peak_mb", peak / MIB);
    put_real(p, "n_growth_mb", peak / MIB);
    put_real(p, "n_usage_fraction", p->allocated > 0 ? allocated / p->allocated : 0);
    put_real(p, "n_python_fraction", number_of(t, row, "python_percent") / 100);
    put_real(p, "n_copy_mb_s", p->seconds > 0 ? number_of(t, row, "copied") / MIB / p->seconds : 0);
    put_samples(p, "memory_samples", s);
}

/* Row -1: a line of which nothing is known. */
static void put_costs(struct profile *p, const struct table *t, int row)
{
    static const char *const sorts[][2] = {{"n_cpu_percent_python", "python"},
                                           {"n_cpu_percent_c", "native"},
                                           {"n_sys_percent", "system"}};
    static const char *const none[] = {"n_core_utilization", "n_gpu_percent", "n_gpu_avg_memory_mb",
                                       "n_gpu_peak_memory_mb"};
    double percent = number_of(t, row, "cpu_percent"), cpu = number_of(t, row, "cpu");

    for (int i = 0; i < 3; i++)
        put_real(p, sorts[i][0], cpu > 0 ? number_of(t, row, sorts[i][1]) / cpu * percent : 0);
    for (int i = 0; i < 4; i++)
        put_number(p, none[i], 0);
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

static void put_lines(struct profile *p, const char *file)
{
    const struct table_source *source = answer_source(p->answer, file);
    uint64_t next = 1;

    emit_key(&p->j, "lines");
    emit_open(&p->j, '[');
    for (int row = 0; row < p->lines->rows; row++) {
        uint64_t line = (uint64_t)number_of(p->lines, row, "line");

        if (!line || strcmp(text_of(p->lines, row, "file"), file) != 0)
            continue;
        for (; source && next < line; next++)
            put_line(p, -1, next, table_source_line(source, next));
        put_line(p, row, line, table_source_line(source, line));
        next = line + 1;
    }
    for (; source && next <= source->lines; next++)
        put_line(p, -1, next, table_source_line(source, next));
    emit_close(&p->j, ']');
}

static void put_functions(struct profile *p, const char *file)
{
    emit_key(&p->j, "functions");
    emit_open(&p->j, '[');
    for (int row = 0; row < p->functions->rows; row++) {
        uint64_t line = (uint64_t)number_of(p->functions, row, "line");

        if (strcmp(text_of(p->functions, row, "file"), file) != 0)
            continue;
        emit_open(&p->j, '{');
        p->j.flat = true;
        put_text(p, "line", text_of(p->functions, row, "function"));
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
        const char *file = text_of(p->files, row, "file");

        if (!cell_of(p->files, row, "lines")) /* it stands for many */
            continue;
        emit_key(&p->j, file);
        emit_open(&p->j, '{');
        put_real(p, "percent_cpu_time", number_of(p->files, row, "cpu_percent"));
        put_lines(p, file);
        put_functions(p, file);
        put_empty(p, "leaks", "{}");
        put_empty(p, "imports", "[]");
        emit_close(&p->j, '}');
    }
    emit_close(&p->j, '}');
}

/* ---- the whole ---- */

/* When it began, from "2024-06-01 12:34:56 UTC". */
static double started(const struct profile *p)
{
    const struct table_cell *c = fact_of(p, "started");
    struct tm tm = {0};

    return c && strptime(c->text, "%Y-%m-%d %H:%M:%S", &tm) ? (double)timegm(&tm) : 0;
}

/* The command's words; the script is the first that ends as one does. */
static void put_command(struct profile *p)
{
    const struct table_cell *c = fact_of(p, "command");
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
        double held = number_of(p->lines, row, "at_peak");

        all += held;
        part += held * number_of(p->lines, row, "python_percent") / 100;
        if (cell_of(p->lines, row, "line") && held > most) {
            most = held;
            best = row;
        }
    }
    *python = all > 0 ? part / all : 0;
    return best;
}

static void put_footprint(struct profile *p)
{
    const struct table_cell *series = fact_of(p, "live_heap");
    double python, alive = value_of(fact_of(p, "alive_at_end")), native = 0;
    int best = largest(p, &python);

    for (int row = 0; row < p->lines->rows; row++)
        if (!cell_of(p->lines, row, "line"))
            native += number_of(p->lines, row, "allocated");
    put_number(p, "alloc_samples", (uint64_t)value_of(fact_of(p, "allocations")));
    put_real(p, "growth_rate", p->allocated > 0 ? alive / p->allocated * 100 : 0);
    put_real(p, "max_footprint_mb", value_of(fact_of(p, "peak_heap")) / MIB);
    put_real(p, "max_footprint_python_fraction", python);
    put_text(p, "max_footprint_fname", best < 0 ? NULL : text_of(p->lines, best, "file"));
    emit_key(&p->j, "max_footprint_lineno");
    if (best < 0)
        emit_null(&p->j);
    else
        emit_number(&p->j, (uint64_t)number_of(p->lines, best, "line"));
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
        .facts = table_of(a, "facts"),
        .files = table_of(a, "files"),
        .lines = table_of(a, "lines"),
        .functions = table_of(a, "functions"),
    };

    p.seconds = value_of(fact_of(&p, "duration")) / 1e9;
    p.allocated = value_of(fact_of(&p, "heap_allocated"));
    emit_open(&p.j, '{');
    put_command(&p);
    put_real(&p, "elapsed_time_sec", p.seconds);
    put_real(&p, "start_time_absolute", started(&p));
    put_number(&p, "start_time_perf", 0);
    put_footprint(&p);
    emit_key(&p.j, "gpu");
    emit_bool(&p.j, false);
    put_text(&p, "gpu_device", "");
    emit_key(&p.j, "async_profile");
    emit_bool(&p.j, false);
    for (int i = 0; i < 4; i++)
        put_empty(&p, lists[i], "[]");
    put_files(&p);
    emit_close(&p.j, '}');
    fputc('\n', out);
}

const struct format format_scalene = {
    .name = "scalene",
    .summary = "a profile for the viewer of Scalene",
    .question = "lines",
    .write = write_scalene,
};
