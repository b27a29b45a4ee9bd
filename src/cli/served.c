/* served - see served.h. */
#include "cli/served.h"

#include "base/hash.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/webpage.h"
#include "report/formats.h"
#include "report/page_served.h"
#include "trace/read.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PORT_MOST 65535

static int make(void *context, const struct serve_asked *a, FILE *out, struct err *err)
{
    const struct served *s = context;

    const struct webpage_asked w = {
        .from_ns = a->from_us * 1000, .to_ns = a->to_us * 1000, .space = a->space};

    return webpage_data(s->paths[a->run], &w, out, err);
}

/* What the files are: another number where one of them changes. 0: there is none. */
static uint64_t stamp(void *context)
{
    const struct served *s = context;
    uint64_t sum = 0;

    for (unsigned int i = 0; i < s->serve.runs; i++) {
        struct stat now;

        if (!*s->paths[i] || stat(s->paths[i], &now))
            continue;
        sum = hash_mix(hash_mix(sum, (uint64_t)now.st_ino), (uint64_t)now.st_size);
        sum = hash_mix(hash_mix(sum, (uint64_t)now.st_mtim.tv_sec), (uint64_t)now.st_mtim.tv_nsec);
        sum += !sum;
    }
    return sum;
}

/* The path of a recording, which ends with a zero byte. Until all of it is there, nothing is. */
static void told(void *context, const char *bytes, size_t count)
{
    struct served *s = context;
    size_t room = sizeof(s->paths[0]) - s->told - 1;

    count = count < room ? count : room;
    memcpy(s->paths[0] + s->told + 1, bytes, count);
    s->told += count;
    if (count && !s->paths[0][s->told])
        memmove(s->paths[0], s->paths[0] + 1, s->told);
}

static int parse_port(const char *text, unsigned int *port, struct err *err)
{
    uint64_t number = 0;

    if (text && (!text_parse_number(text, &number) || number > PORT_MOST))
        return err_code(err, EXIT_USAGE, "'%s' is not a port; give a number up to %d", text,
                        PORT_MOST);
    *port = (unsigned int)number;
    return 0;
}

static int copy_paths(struct served *s, const char *const *paths, struct err *err)
{
    for (; paths[s->serve.runs]; s->serve.runs++) {
        const char *path = paths[s->serve.runs];

        if (strlen(path) >= sizeof(s->paths[0]))
            return err_set(err, "cannot read '%s': %s", path, strerror(ENAMETOOLONG));
        memcpy(s->paths[s->serve.runs], path, strlen(path) + 1);
    }
    return 0;
}

int served_open(struct served *s, const char *const *paths, const char *port, struct err *err)
{
    struct page_served page = {0};
    unsigned int number = 0;

    *s = (struct served){0};
    s->serve = (struct serve){
        .context = s, .make = make, .stamp = stamp, .recorder = -1, .told = told};
    if (parse_port(port, &number, err) || copy_paths(s, paths, err))
        return -1;
    if (format_html.missing())
        return err_set(err, "no page can be served: %s", format_html.missing());
    if (!page_served(&page, s->serve.runs, &s->arena))
        return err_set(err, "no page can be served: the one in this tool is not as expected");
    s->serve.page = body_of(page.html, page.bytes);
    s->serve.policy = page.policy;
    return place_open(&s->serve.place, number, err);
}

const char *served_address(struct served *s)
{
    return arena_printf(&s->arena, "http://127.0.0.1:%u/%s/", s->serve.place.port,
                        s->serve.place.token);
}

void served_close(struct served *s)
{
    if (s->serve.place.fd > 0)
        close(s->serve.place.fd);
    body_drop(s->serve.page);
    arena_free(&s->arena);
}

static int open_trace(void *context, FILE *out, struct err *err)
{
    struct trace *t = trace_open(context, err);

    (void)out;
    if (!t)
        return -1;
    trace_close(t);
    return 0;
}

int served_check(const char *path, struct err *err)
{
    struct job job;
    struct body *said;

    if (!job_start(&job, open_trace, (void *)path, false))
        return err_set(err, "no process can be started to read '%s': %s", path, strerror(errno));
    while (!job_read(&job))
        poll(&(struct pollfd){.fd = job.fd, .events = POLLIN}, 1, -1);
    said = job_end(&job, err);
    body_drop(said);
    return said ? 0 : -1;
}
