/* told - what others tell us while we watch: signals, of which most are meant for the command, and
 * words on the control socket. See watcher.h.
 */
#include "attach/control.h"
#include "base/count.h"
#include "collect/collect.h"
#include "watch/watcher.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void pause_ourselves(struct watcher *w)
{
    if (w->o->on_pause)
        w->o->on_pause(w->o->context, true);
    kill(getpid(), SIGSTOP);
    w->next_ns = watcher_mono();
    if (w->o->on_pause)
        w->o->on_pause(w->o->context, false);
}

/* What the terminal sends reaches the whole group, the command included: nothing to pass on. The
 * same for a signal that a process of the tree sent, which is meant for its group.
 */
static void pass_on(struct watcher *w, const struct signal_told *s)
{
    int sig = s->number;
    bool stop = sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;

    if (s->by_program && s->from != getpid() && !tree_has(&w->tree, s->from)) {
        kill(w->root, sig);
        w->passed_on = sig;
    }
    if (stop)
        pause_ourselves(w);
}

void told_signals(struct watcher *w)
{
    struct signal_told s[8];
    int count = signals_read(w->signals, s, COUNT(s));

    for (int i = 0; i < count; i++) {
        int sig = s[i].number;

        if (sig == SIGCHLD)
            endings_take(w);
        else if (w->root)
            pass_on(w, &s[i]);
        else if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT)
            w->done = true; /* enough seen of processes that are not ours */
        else if (sig == SIGTSTP)
            pause_ourselves(w);
    }
}

static void obey(struct watcher *w, int fd, const char *said)
{
    char answer[CONTROL_TEXT] = "ok";
    uint64_t at;

    if (strcmp(said, "pause") == 0 || strcmp(said, "resume") == 0) {
        collect_pause(w->o->collect, said[0] == 'p');
    } else if (strncmp(said, "snapshot ", 9) == 0) {
        at = looks_take(w, said + 9);
        w->snapshots_told++;
        snprintf(answer, sizeof(answer), "ok %.6f", (double)at / 1e9);
    } else if (strcmp(said, "detach") == 0 && !w->root) {
        w->done = true;
    } else if (strcmp(said, "detach") == 0) {
        snprintf(answer, sizeof(answer),
                 "it was started by 'tidemark record', whose recording ends with it");
    } else {
        snprintf(answer, sizeof(answer),
                 "the recorder is another version and does not understand this");
    }
    control_answer(fd, answer);
    if (!w->done)
        close(fd); /* else our end tells that the trace is whole */
}

void told_words(struct watcher *w)
{
    char said[CONTROL_TEXT];
    int fd = control_accept(w->control, said);

    if (fd >= 0)
        obey(w, fd, said);
}
