/* source_text - see source_text.h. A file is written as UTF-8: as it is, if it is that, else taken
 * for ISO 8859-1; a file of Python that names another coding (PEP 263) keeps its ASCII alone.
 */
#include "finish/source_text.h"

#include "base/clock.h"
#include "base/count.h"
#include "base/memory.h"
#include "finish/foreign.h"
#include "model/frames.h"
#include "model/scope.h"
#include "trace/read.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MOST ((size_t)1 << 20) /* of a larger file, only the lines referred to */
#define READ_MOST ((size_t)64 << 20)
#define ALL_MOST ((size_t)32 << 20)
#define LINE_MOST 4096 /* bytes of a line that are kept */
#define PIECE 256u     /* bytes in which the end of a line is looked for at once */

struct reference { /* a line that frames refer to */
    const char *file;
    uint64_t line;
    bool own, python; /* own: the file is the program's, or was generated for it */
};

struct sources_writer {
    struct trace_store *store;
    struct arena arena;
    struct names names;
    struct frames frames;
    struct scope scope;
    struct foreign files;
    struct reference *references;
    size_t count, room;
    uint64_t began_ns; /* CLOCK_REALTIME */
    size_t written;
    char *changed; /* paths, one per line */
    size_t changed_bytes;
};

/* ---- what is referred to ---- */

static int read_frames(struct sources_writer *w, const char *path, struct err *err)
{
    struct trace *t = trace_open(path, err);
    struct trace_event ev;

    if (!t)
        return -1;
    w->began_ns = trace_header(t)->real_ns;
    w->names.file_bytes = trace_size(t);
    trace_rewind_own(t);
    while (trace_next(t, &ev)) {
        if (ev.kind == TRACE_STRING)
            names_string(&w->names, &ev);
        else if (ev.kind != TRACE_STACKS && ev.kind != TRACE_STACK) /* millions, of no use here */
            frames_take(&w->frames, &ev);
    }
    trace_close(t);
    return 0;
}

static void refer(struct sources_writer *w, const struct table_frame *f)
{
    bool python = f->flags & TABLE_FRAME_PYTHON;
    enum scope_kind kind;

    if (!f->file || !f->line || f->file[0] == '<')
        return;
    kind = python ? scope_of_python(&w->scope, f->file)
                  : scope_of_native(&w->scope, f->file, f->module);
    if (!python && kind != SCOPE_OWN)
        return;
    memory_fit(w->references, w->room, w->count + 1);
    w->references[w->count++] = (struct reference){
        f->file, f->line, kind == SCOPE_OWN || kind == SCOPE_GENERATED, python};
}

static int by_line(const void *left, const void *right)
{
    const struct reference *l = left, *r = right;
    int order = strcmp(l->file, r->file);

    if (l->own != r->own) /* the program's own first: there is a limit */
        return l->own ? -1 : 1;
    return order ? order : l->line < r->line ? -1 : l->line > r->line;
}

static void find_references(struct sources_writer *w)
{
    struct table_frame names[FRAMES_INLINED_MOST];

    for (uint64_t i = 1; i <= w->frames.frame_count; i++)
        if (frames_is_python(&w->frames, i) && w->frames.frames[i].names &&
            w->frames.frames[i].names->file)
            scope_learn(&w->scope, w->frames.frames[i].names->file);
    for (uint64_t i = 1; i <= w->frames.frame_count; i++) {
        size_t n = frames_expand(&w->frames, i, names, FRAMES_INLINED_MOST);

        for (size_t k = 0; k < n; k++)
            refer(w, &names[k]);
    }
    memory_sort(w->references, w->count, sizeof(*w->references), by_line);
}

/* ---- the text of a file ---- */

enum coding { CODING_UTF8, CODING_LATIN1, CODING_OTHER };

/* Where the next byte is that is no ASCII, or a little before it: nearly all of a source is. */
static size_t skip_ascii(const unsigned char *s, size_t i, size_t n)
{
    uint64_t word = 0;

    for (; i + sizeof(word) <= n; i += sizeof(word)) {
        memcpy(&word, s + i, sizeof(word));
        if (word & 0x8080808080808080u)
            break;
    }
    return i;
}

static bool is_utf8(const unsigned char *s, size_t n)
{
    for (size_t i = skip_ascii(s, 0, n); i < n;) {
        size_t more = s[i] < 0x80 ? 0 : s[i] >> 5 == 6 ? 1 : s[i] >> 4 == 14 ? 2 : 3;

        if (s[i] >= 0x80 && (s[i] < 0xc2 || s[i] > 0xf4 || i + more >= n))
            return false;
        for (size_t k = 1; k <= more; k++)
            if (s[i + k] >> 6 != 2)
                return false;
        i += more + 1;
        if (more)
            i = skip_ascii(s, i, n);
    }
    return true;
}

/* What "coding: NAME" in a comment of this line says; false: it says nothing. */
static bool cookie_of(const char *line, size_t n, enum coding *coding)
{
    static const char *const latin[] = {"latin-1", "latin1", "iso-8859-1", "iso8859-1", "l1"};
    char name[32] = "";
    size_t i = 0, k = 0;
    const char *at;

    while (i < n && strchr(" \t\f", line[i]))
        i++;
    at = i < n && line[i] == '#' ? memmem(line + i, n - i, "coding", 6) : NULL;
    if (!at || at + 7 >= line + n || (at[6] != ':' && at[6] != '='))
        return false;
    for (at += 7; at < line + n && (*at == ' ' || *at == '\t'); at++)
        ;
    for (; at < line + n && k + 1 < sizeof(name) &&
           (isalnum((unsigned char)*at) || strchr("-_.", *at));
         at++)
        name[k++] = *at == '_' ? '-' : *at;
    *coding = CODING_OTHER;
    if (strncasecmp(name, "utf-8", 5) == 0 || strncasecmp(name, "utf8", 4) == 0 ||
        strcasecmp(name, "ascii") == 0)
        *coding = CODING_UTF8;
    for (int l = 0; l < COUNT(latin); l++)
        if (strncasecmp(name, latin[l], strlen(latin[l])) == 0 &&
            (name[strlen(latin[l])] == '\0' || name[strlen(latin[l])] == '-'))
            *coding = CODING_LATIN1;
    return k > 0;
}

/* A line ends with either: looked for in short pieces, as a file may have one of them alone. */
static size_t line_length(const char *text, size_t n)
{
    for (size_t i = 0, piece; i < n; i += piece) {
        const char *feed, *back;

        piece = n - i < PIECE ? n - i : PIECE;
        feed = memchr(text + i, '\n', piece);
        back = memchr(text + i, '\r', feed ? (size_t)(feed - text) - i : piece);
        if (back || feed)
            return (size_t)((back ? back : feed) - text);
    }
    return n;
}

static size_t line_break(const char *text, size_t n)
{
    return n == 0 ? 0 : n > 1 && text[0] == '\r' && text[1] == '\n' ? 2 : 1;
}

static enum coding coding_of(const char *text, size_t n, bool python)
{
    enum coding coding = is_utf8((const unsigned char *)text, n) ? CODING_UTF8 : CODING_LATIN1;
    enum coding said;
    size_t at = 0;

    for (int line = 0; python && line < 2; line++) {
        size_t length = line_length(text + at, n - at);

        if (cookie_of(text + at, length, &said))
            return said == CODING_UTF8 ? coding : said;
        at += length;
        at += line_break(text + at, n - at);
    }
    return coding;
}

/* One line as UTF-8, as much of it as is kept. */
static size_t convert(char out[LINE_MOST + 4], const char *text, size_t n, enum coding coding)
{
    size_t used = 0;

    for (size_t i = 0; i < n && used < LINE_MOST; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c < 0x80 || coding == CODING_UTF8) {
            out[used++] = (char)c;
        } else if (coding == CODING_LATIN1) {
            out[used++] = (char)(0xc0 | c >> 6);
            out[used++] = (char)(0x80 | (c & 0x3f));
        } else {
            out[used++] = '?';
        }
    }
    while (used && used >= LINE_MOST && !is_utf8((const unsigned char *)out, used))
        used--; /* the limit may cut a letter */
    return used;
}

/* The whole file, in memory of its own; NULL: there is none, or the program may not read it. */
static char *read_file(struct foreign *files, const char *path, size_t *size, struct stat *about)
{
    int fd = foreign_open(files, path);
    char *text = NULL;
    size_t used = 0;
    ssize_t n = 0;

    if (fd < 0)
        return NULL;
    if (fstat(fd, about) == 0 && (size_t)about->st_size <= READ_MOST) {
        text = memory_resize(NULL, (size_t)about->st_size + 1);
        while (used < (size_t)about->st_size &&
               (n = read(fd, text + used, (size_t)about->st_size - used)) > 0)
            used += (size_t)n;
    }
    close(fd);
    *size = used;
    return text;
}

/* ---- writing ---- */

static void note_change(struct sources_writer *w, const char *path, const struct stat *about)
{
    uint64_t changed = clock_ns_of(about->st_mtim);
    size_t n = strlen(path);

    if (changed <= w->began_ns)
        return;
    w->changed = memory_resize(w->changed, w->changed_bytes + n + 2);
    w->changed_bytes += (size_t)snprintf(w->changed + w->changed_bytes, n + 2, "%s%s",
                                         w->changed_bytes ? "\n" : "", path);
}

static void put_line(struct sources_writer *w, uint64_t file, uint64_t line, const char *text,
                     size_t n, enum coding coding)
{
    struct trace_source record = {file, line};
    char out[LINE_MOST + 4];
    size_t used = convert(out, text, n, coding);

    if (w->written + used > ALL_MOST)
        return;
    w->written += used;
    trace_store_put(w->store, TRACE_SOURCE, 0, (const uint64_t *)&record, 2, out, used);
}

/* The references first .. first + count are of one file. */
static void put_file(struct sources_writer *w, const struct reference *first, size_t count)
{
    struct stat about;
    size_t size = 0, at = 0, next = 0;
    char *text = read_file(&w->files, first->file, &size, &about);
    uint64_t file;
    enum coding coding;
    bool whole = first->own && size <= FILE_MOST;

    if (!text)
        return;
    note_change(w, first->file, &about);
    file = trace_store_string(w->store, first->file, strlen(first->file));
    coding = coding_of(text, size, first->python);
    if (size >= 3 && memcmp(text, "\357\273\277", 3) == 0) /* a byte order mark */
        at = 3;
    for (uint64_t line = 1; at < size && (whole || next < count); line++) {
        size_t length = line_length(text + at, size - at);

        if (whole || first[next].line == line)
            put_line(w, file, line, text + at, length, coding);
        while (next < count && first[next].line <= line)
            next++;
        at += length;
        at += line_break(text + at, size - at);
    }
    free(text);
}

int source_text_add(const char *path, struct trace_store *store, const char *command,
                    const struct rights *rights, struct err *err)
{
    struct sources_writer w = {.store = store};
    int status;

    w.names.arena = w.scope.arena = &w.arena;
    w.frames.names = &w.names;
    if (command)
        scope_command(&w.scope, command);
    trace_store_flush(store);
    status = read_frames(&w, path, err);
    if (status == 0) {
        find_references(&w);
        foreign_begin(&w.files, rights);
        for (size_t i = 0, end; i < w.count; i = end) {
            for (end = i;
                 end < w.count && strcmp(w.references[end].file, w.references[i].file) == 0;)
                end++;
            put_file(&w, &w.references[i], end - i);
        }
        foreign_end(&w.files);
        if (w.changed)
            trace_store_fact(store, TRACE_OF_RUN, 0, FACT_SOURCES_CHANGED, w.changed,
                             w.changed_bytes);
    }
    frames_free(&w.frames);
    names_free(&w.names);
    scope_free(&w.scope);
    free(w.references);
    free(w.changed);
    arena_free(&w.arena);
    return status;
}
