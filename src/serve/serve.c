/* serve - see serve.h. One loop that waits for nobody: connections, one process that makes data,
 * and the recorder. Where there is no place for one more connection, one that waits for nothing
 * goes.
 */
#include "serve/serve.h"

#include "base/clock.h"
#include "serve/shelf.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MOST 64
#define TICK_NS (CLOCK_SECOND_NS / 4)
/* Of a recording that goes on: how long it rests after data was made, at least and for each second
 * that took.
 */
#define REST_NS ((uint64_t)CLOCK_SECOND_NS)
#define REST_TIMES 9u
/* After its end: how long those are waited for who looked within so long, in all and since one last
 * asked.
 */
#define LOOKED_NS (5ull * CLOCK_SECOND_NS)
#define FAREWELL_NS (20ull * CLOCK_SECOND_NS)
#define QUIET_NS (2ull * CLOCK_SECOND_NS)

enum { LISTENER, JOB, RECORDER, FIRST };

struct serving {
    struct serve *of;
    struct connection *list[CONNECTIONS_MOST];
    size_t count;
    struct job job;
    struct made making; /* what the job makes */
    uint64_t begun_ns, rest_until_ns;
    struct shelf shelf;
    uint64_t now_ns, seen_ns, ended_ns; /* seen_ns: when one last asked */
    bool live;
};

static volatile sig_atomic_t told_to_end;

static void note_end(int number)
{
    (void)number;
    told_to_end = 1;
}

/* ---- answers ---- */

static void refuse(struct serving *s, struct connection *c, int status, const char *sentence)
{
    struct reply r = reply_refusal(status, sentence);

    connection_answer(c, &r, s->now_ns);
}

static const char *sentence_of(int status)
{
    return status == 414 ? "This address is too long."
         : status == 431 ? "This request is too large."
         : status == 505 ? "Ask by HTTP/1.1."
                         : "This is not a request that tidemark understands.";
}

static void give_page(struct serving *s, struct connection *c)
{
    struct reply r = {.status = 200,
                      .type = "text/html; charset=utf-8",
                      .policy = s->of->policy,
                      .body = body_share(s->of->page)};

    connection_answer(c, &r, s->now_ns);
}

static void give_data(struct serving *s, struct connection *c, const struct made *m)
{
    struct reply r = {.status = 200,
                      .type = "application/octet-stream",
                      .version = m->version,
                      .live = !m->final,
                      .body = body_share(m->body)};

    connection_answer(c, &r, s->now_ns);
}

static void want_data(struct serving *s, struct connection *c, struct http_text query)
{
    struct serve_asked *a = &c->asked;
    uint64_t run = 0;

    http_number(query, "run", &run);
    http_number(query, "space", &a->space);
    http_number(query, "from", &a->from_us);
    http_number(query, "to", &a->to_us);
    http_number(query, "newer", &a->newer);
    a->run = (unsigned int)run;
    if (run >= s->of->runs || (a->to_us && a->to_us <= a->from_us))
        refuse(s, c, 404, "There is no such part of the recording.");
    else
        c->state = CONNECTION_WAITING;
    c->since_ns = s->now_ns;
}

/* Who asks is checked before what is asked. */
static void answer(struct serving *s, struct connection *c, const struct http_request *r)
{
    struct http_text rest;

    c->headless = r->method == HTTP_HEAD;
    if (!http_is_local(r->host))
        refuse(s, c, 403, "This page is only for 127.0.0.1 and localhost.");
    else if (!place_within(&s->of->place, r->path, &rest))
        refuse(s, c, 403, "This address lacks its key: open the whole one that tidemark printed.");
    else if (r->method == HTTP_OTHER)
        refuse(s, c, 405, "Only GET and HEAD are answered.");
    else if (http_is(rest, "/"))
        give_page(s, c);
    else if (http_is(rest, "/data"))
        want_data(s, c, r->query);
    else
        refuse(s, c, 404, "There is nothing here but the page and its data.");
    s->seen_ns = s->now_ns;
}

/* ---- connections ---- */

static void remove_at(struct serving *s, size_t i)
{
    connection_close(s->list[i]);
    s->list[i] = s->list[--s->count];
}

/* Those go last who have asked, and first those who were answered. */
static bool goes_before(const struct connection *a, const struct connection *b)
{
    static const int ranks[] = {[CONNECTION_PARTING] = 0,
                                [CONNECTION_ASKING] = 1,
                                [CONNECTION_SENDING] = 2,
                                [CONNECTION_WAITING] = 3};

    if (ranks[a->state] != ranks[b->state])
        return ranks[a->state] < ranks[b->state];
    return a->since_ns < b->since_ns;
}

static void make_room(struct serving *s)
{
    size_t first = 0;

    for (size_t i = 1; i < s->count; i++)
        if (goes_before(s->list[i], s->list[first]))
            first = i;
    if (s->count)
        remove_at(s, first);
}

static void admit(struct serving *s)
{
    int fd;

    while ((fd = accept4(s->of->place.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (s->count == CONNECTIONS_MOST)
            make_room(s);
        s->list[s->count++] = connection_open(fd, s->now_ns);
    }
    if (errno == EMFILE || errno == ENFILE)
        make_room(s);
}

static bool read_request(struct serving *s, struct connection *c)
{
    struct http_request r;
    int status = connection_read(c, &r, s->now_ns);

    if (status == HTTP_OK)
        answer(s, c, &r);
    else if (status > 0)
        refuse(s, c, status, sentence_of(status));
    return status >= 0;
}

/* It can go on. False: it has ended. */
static bool go_on(struct serving *s, struct connection *c)
{
    if (c->state == CONNECTION_ASKING)
        return read_request(s, c);
    if (c->state == CONNECTION_SENDING)
        return connection_send(c, s->now_ns);
    return connection_is_there(c);
}

static void step_connections(struct serving *s, const struct pollfd *polled, size_t count)
{
    for (size_t i = count; i-- > 0;) /* from the end: the last takes the place of one that goes */
        if ((polled[i].revents && !go_on(s, s->list[i])) ||
            connection_is_late(s->list[i], s->now_ns))
            remove_at(s, i);
}

/* ---- data ---- */

static bool has_to_rest(const struct serving *s)
{
    return s->live && s->now_ns < s->rest_until_ns;
}

/* What was made does for one who asks: it is as new as can be had now, and newer than what it has.
 * After the last there is nothing newer.
 */
static bool does_for(const struct serving *s, const struct made *m, const struct serve_asked *a,
                     uint64_t stamp)
{
    if (!m)
        return false;
    if (!s->live)
        return m->final && m->stamp == stamp;
    return m->version > a->newer && (m->stamp == stamp || has_to_rest(s));
}

/* There is something new to be made for it. Of a recording that has not begun there is nothing. */
static bool is_due(const struct serving *s, const struct made *m, const struct serve_asked *a,
                   uint64_t stamp)
{
    if (has_to_rest(s) || (s->live && !stamp))
        return false;
    return !m || !s->live || m->stamp != stamp || m->version > a->newer;
}

/* In its process, which is to keep nobody's connection open. */
static int work(void *context, FILE *out, struct err *err)
{
    const struct serving *s = context;

    close(s->of->place.fd);
    for (size_t i = 0; i < s->count; i++)
        close(s->list[i]->fd);
    return s->of->make(s->of->context, &s->making.asked, out, err);
}

static void refuse_waiting(struct serving *s, const char *sentence)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i]->state == CONNECTION_WAITING &&
            asked_is_same(&s->list[i]->asked, &s->making.asked))
            refuse(s, s->list[i], 500, sentence);
}

static void start(struct serving *s, const struct serve_asked *a, uint64_t stamp)
{
    s->making = (struct made){.asked = *a, .stamp = stamp, .final = !s->live};
    s->begun_ns = s->now_ns;
    if (!job_start(&s->job, work, s, s->live))
        refuse_waiting(s, "No process can be started to read the trace.");
}

/* Give to those who wait what there is; and make what the one wants who waits longest. */
static void serve_waiting(struct serving *s)
{
    const struct connection *next = NULL;
    uint64_t stamp = s->count ? s->of->stamp(s->of->context) : 0;

    for (size_t i = 0; i < s->count; i++) {
        struct connection *c = s->list[i];
        const struct made *m = shelf_find(&s->shelf, &c->asked);

        if (c->state != CONNECTION_WAITING)
            continue;
        if (does_for(s, m, &c->asked, stamp))
            give_data(s, c, m);
        else if (is_due(s, m, &c->asked, stamp) && (!next || c->since_ns < next->since_ns))
            next = c;
    }
    if (next && !s->job.pid)
        start(s, &next->asked, stamp);
}

static bool is_wanted(const struct serving *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i]->state == CONNECTION_WAITING &&
            asked_is_same(&s->list[i]->asked, &s->making.asked))
            return true;
    return false;
}

static void take_data(struct serving *s)
{
    uint64_t took_ns = s->now_ns - s->begun_ns;
    struct err err = {0};

    s->rest_until_ns = s->now_ns + REST_NS + REST_TIMES * took_ns;
    s->making.body = job_end(&s->job, &err);
    if (s->making.body)
        shelf_put(&s->shelf, &s->making);
    else if (s->making.final) /* of a recording that has just begun, more is to come */
        refuse_waiting(s, err.text);
}

/* ---- the loop ---- */

static void hear_recorder(struct serving *s)
{
    char bytes[4096];
    ssize_t got = read(s->of->recorder, bytes, sizeof(bytes));

    if (got > 0) {
        s->of->told(s->of->context, bytes, (size_t)got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        s->live = false;
        s->ended_ns = s->now_ns;
    }
}

/* Nobody is left who looked at a recording that has ended. */
static bool is_over(const struct serving *s)
{
    bool looked = s->count || s->seen_ns + LOOKED_NS > s->ended_ns;

    if (s->of->recorder < 0 || s->live)
        return false;
    return !s->seen_ns || !looked || s->now_ns - s->ended_ns > FAREWELL_NS ||
           (!s->count && s->now_ns - s->seen_ns > QUIET_NS && s->now_ns - s->ended_ns > QUIET_NS);
}

static void wait_for(struct serving *s, struct pollfd *polled, const sigset_t *mask)
{
    struct timespec tick = {0, TICK_NS};
    bool idle = !s->count && !s->job.pid && (s->live || s->of->recorder < 0);

    polled[LISTENER] = (struct pollfd){.fd = s->of->place.fd, .events = POLLIN};
    polled[JOB] = (struct pollfd){.fd = s->job.pid ? s->job.fd : -1, .events = POLLIN};
    polled[RECORDER] = (struct pollfd){.fd = s->live ? s->of->recorder : -1, .events = POLLIN};
    for (size_t i = 0; i < s->count; i++)
        polled[FIRST + i] = (struct pollfd){.fd = s->list[i]->fd,
                                            .events = connection_events(s->list[i])};
    if (ppoll(polled, FIRST + s->count, idle ? NULL : &tick, mask) <= 0)
        for (size_t i = 0; i < FIRST + s->count; i++)
            polled[i].revents = 0;
    s->now_ns = clock_ns(CLOCK_MONOTONIC);
}

static void step(struct serving *s, const sigset_t *mask)
{
    struct pollfd polled[FIRST + CONNECTIONS_MOST];
    size_t count = s->count;

    wait_for(s, polled, mask);
    step_connections(s, polled + FIRST, count);
    if (polled[RECORDER].revents)
        hear_recorder(s);
    if (polled[JOB].revents && job_read(&s->job))
        take_data(s);
    if (s->job.pid && !is_wanted(s))
        job_cancel(&s->job);
    if (polled[LISTENER].revents)
        admit(s);
    serve_waiting(s);
}

static void catch_signals(sigset_t *before)
{
    struct sigaction end = {.sa_handler = note_end};
    sigset_t all;

    sigemptyset(&all);
    sigaddset(&all, SIGINT);
    sigaddset(&all, SIGTERM);
    sigaddset(&all, SIGHUP);
    sigprocmask(SIG_BLOCK, &all, before);
    sigaction(SIGINT, &end, NULL);
    sigaction(SIGTERM, &end, NULL);
    sigaction(SIGHUP, &end, NULL);
}

void serve_run(struct serve *of)
{
    struct serving s = {.of = of, .live = of->recorder >= 0, .now_ns = clock_ns(CLOCK_MONOTONIC)};
    sigset_t before;

    catch_signals(&before);
    while (!told_to_end && !is_over(&s))
        step(&s, &before);
    job_cancel(&s.job);
    while (s.count)
        remove_at(&s, s.count - 1);
    shelf_free(&s.shelf);
}
