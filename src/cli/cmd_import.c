/* import - make a trace of a file that another tool has recorded. */
#include "base/jail.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/tracefile.h"
#include "import/importer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define READ_EACH ((size_t)1 << 20)

static const char *output;
static bool force;

static const struct option options[] = {
    {'o', "output", "FILE", &output, NULL,
     "Write the trace to FILE (default: the imported file's name, ending in .tide)", NULL, NULL},
    {0, "force", NULL, &force, NULL, "Overwrite FILE", NULL, NULL},
    {0},
};

/* ---- the file ---- */

static int read_all(const char *path, unsigned char **bytes, size_t *size, struct err *err)
{
    FILE *f = fopen(path, "re");
    struct stat of;
    size_t room = 0, got;

    if (f && fstat(fileno(f), &of) == 0 && S_ISDIR(of.st_mode))
        errno = EISDIR;
    else
        while (f && !ferror(f) && !feof(f)) {
            memory_fit(*bytes, room, *size + READ_EACH);
            got = fread(*bytes + *size, 1, READ_EACH, f);
            *size += got;
        }
    if (!f || !feof(f)) {
        err_set(err, "cannot read '%s': %s", path, strerror(errno));
        if (f)
            fclose(f);
        return -1;
    }
    fclose(f);
    return 0;
}

/* "snapshot.tide" for "runs/snapshot.pickle". */
static const char *plain_name(struct arena *a, const char *path)
{
    const char *base = text_base(path);
    const char *dot = strrchr(base, '.');

    return arena_printf(a, "%.*s.tide", dot && dot > base ? (int)(dot - base) : (int)strlen(base),
                        base);
}

/* ---- what became of it ---- */

static void say_odd(uint64_t count, const char *what)
{
    if (count)
        fprintf(stderr, "tidemark: note: %s: %" PRIu64 "\n", what, count);
}

static void say(const struct intake *in, const char *path)
{
    uint64_t allocs = 0;

    for (size_t i = 0; i < in->count; i++)
        allocs += in->events[i].kind == INTAKE_ALLOC;
    if (in->lacks)
        fprintf(stderr, "tidemark: note: %s\n", in->lacks);
    say_odd(in->frees_unknown, "frees of blocks that the file does not tell of");
    say_odd(in->alive_twice,
            "blocks that came again without a free, whose older ones were ended then");
    say_odd(in->rows_odd, "rows that make no sense (the last may be cut) and were left out");
    say_odd(in->sums_wrong, "running sums of the file that are not those of its own events");
    printf("%s: %" PRIu64 " allocations; look at it with: tidemark report %s\n", path, allocs,
           path);
}

static int import_into(struct trace_store *store, const struct importer *importer,
                       const struct import_file *f, const char *path, struct err *err)
{
    struct intake in = {.store = store, .file = text_base(f->path), .tool = importer->name};
    int result = importer->read(f, &in, err);

    if (result == 0)
        result = intake_write(&in, err);
    if (result < 0)
        trace_store_discard(store);
    else
        result = trace_store_close(store, err);
    if (result == 0)
        say(&in, path);
    intake_free(&in);
    return result;
}

static int import_file(struct arena *a, const char *path, struct err *err)
{
    struct import_file f = {.path = path};
    struct tracefile to = {.named = output, .plain = plain_name(a, path), .force = force};
    unsigned char *bytes = NULL;
    const struct importer *importer = NULL;
    struct trace_store *store = NULL;
    int result = read_all(path, &bytes, &f.size, err);

    jail_command();
    f.bytes = bytes;
    if (result == 0 && !(importer = importer_of(&f, err)))
        result = -1;
    if (result == 0 && !(store = tracefile_create(a, &to, err))) {
        err->code = EXIT_NO;
        result = -1;
    }
    if (result == 0)
        result = import_into(store, importer, &f, to.path, err);
    free(bytes);
    return result;
}

static int run(int argc, char **argv, struct err *err)
{
    int operands = options_parse(options, argc, argv, true, err);
    struct arena arena = {0};
    int result;

    if (operands < 0)
        return -1;
    if (operands != 1)
        return err_code(err, EXIT_USAGE,
                        operands ? "import one file at a time; '%s' is one too many"
                                 : "name the file to import%s",
                        operands ? argv[2] : "");
    result = import_file(&arena, argv[1], err);
    arena_free(&arena);
    return result;
}

static const char *describe(struct arena *a, bool whole)
{
    const char *all =
        "Turns a file that another tool has written into a trace, so that every question can be asked of it. The file is not trusted: it is read within limits, and nothing in it is run. What it does not contain, such as CPU time or resident memory, is n/a in every answer.";

    (void)whole;

    for (int i = 0; importers[i]; i++)
        all = arena_printf(a, "%s\n\n%c%s: %s.", all,
                           importers[i]->name[0] == 'a' ? 'A' : *importers[i]->name,
                           importers[i]->name + 1, importers[i]->summary);
    return all;
}

static const struct command_exit exits[] = {
    {"0", "the trace was written"},
    {"1", "the file cannot be read, is none of these, or the trace cannot be written"},
    {"2", "the command line is wrong"},
    {0},
};

const struct command cmd_import = {
    .name = "import",
    .operands = "FILE",
    .summary = "Turn another tool's file into a trace",
    .describe = describe,
    .examples =
        "tidemark import snapshot.pickle\n    a PyTorch memory snapshot, as snapshot.tide\n"
        "tidemark report snapshot.tide peak\n    which lines held the device's memory at its peak\n"
        "tidemark import memscope_dump_1.csv -o run.tide\n    a dump of MindStudio MemScope\n",
    .options = options,
    .exits = exits,
    .run = run,
};
