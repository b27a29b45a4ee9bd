/* linux_procparse - the text of /proc/PID/stat and status as numbers; see linux_procfs.h. */
#include "base/count.h"
#include "platform/linux_procfs.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

uint64_t proc_parse_number(const char **at)
{
    const char *s = *at;
    uint64_t n = 0;

    while (*s == ' ' || *s == '\t' || *s == '-')
        s++;
    for (; *s >= '0' && *s <= '9'; s++)
        n = n * 10 + (uint64_t)(*s - '0');
    *at = s;
    return n;
}

#define PF_EXITING 4 /* of the kernel's sched.h, and as old as the field */

int proc_parse_stat(const char *text, struct proc_reading *r)
{
    const char *name = strchr(text, '('),
               *s = strrchr(text, ')'); /* it may hold anything: ") R 1" */
    uint64_t field[50] = {0};
    size_t len;

    if (!name || !s || s < name || !s[1] || !s[2])
        return -1;
    len = (size_t)(s - name - 1);
    if (len >= sizeof(r->name))
        len = sizeof(r->name) - 1;
    memcpy(r->name, name + 1, len);
    r->name[len] = '\0';
    r->state = s[2];
    s += 3;
    for (int i = 4; i < 50 && *s == ' '; i++) /* numbered as in proc(5) */
        field[i] = proc_parse_number(&s);
    r->ppid = (int)field[4];
    r->ending = field[9] & PF_EXITING;
    r->minor_faults = field[10];
    r->child_minor_faults = field[11];
    r->major_faults = field[12];
    r->user_ticks = field[14];
    r->system_ticks = field[15];
    r->threads = field[20];
    r->start_ticks = field[22];
    r->vsz = field[23];
    r->ignores_children = field[33] >> (SIGCHLD - 1) & 1;
    r->image = field[26] ? field[28]
                         : 0; /* start of the stack: random for each exec, once it has code */
    return 0;
}

static bool line_is(const char *line, const char *key)
{
    return !strncmp(line, key, strlen(key));
}

/* The value of one line of status, where it is one of those that are wanted. */
static void parse_line(const char *line, struct proc_reading *r)
{
    const char *s = strchr(line, ':');

    if (!s)
        return;
    s++;
    if (line_is(line, "Tgid:"))
        r->tgid = (int)proc_parse_number(&s);
    else if (line_is(line, "voluntary_ctxt_switches:"))
        r->waited = proc_parse_number(&s);
    else if (line_is(line, "nonvoluntary_ctxt_switches:"))
        r->forced = proc_parse_number(&s);
}

void proc_parse_status(const char *text, struct proc_reading *r)
{
    static const struct {
        const char *key;
        size_t offset;
    } sizes[] = {
        {"VmPeak:", offsetof(struct proc_reading, vsz_peak)},
        {"VmSize:", offsetof(struct proc_reading, vsz)},
        {"VmHWM:", offsetof(struct proc_reading, rss_peak)},
        {"VmRSS:", offsetof(struct proc_reading, rss)},
        {"RssAnon:", offsetof(struct proc_reading, rss_anon)},
        {"RssFile:", offsetof(struct proc_reading, rss_file)},
        {"RssShmem:", offsetof(struct proc_reading, rss_shmem)},
        {"VmSwap:", offsetof(struct proc_reading, swap)},
    };
    const size_t count = COUNT(sizes);
    size_t next = 0; /* the lines come in this order, but some may be missing */

    for (size_t i = 0; i < count; i++)
        *(uint64_t *)((char *)r + sizes[i].offset) = ABSENT;
    r->waited = r->forced = ABSENT;
    for (const char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
        size_t i = next;

        end = strchr(line, '\n');
        if (*line == 'V' || *line == 'R')
            while (i < count && !line_is(line, sizes[i].key))
                i++;
        else
            i = count;
        if (i < count) {
            const char *s = line + strlen(sizes[i].key);

            *(uint64_t *)((char *)r + sizes[i].offset) = proc_parse_number(&s) * 1024;
            next = i + 1;
        } else {
            parse_line(line, r);
        }
    }
}
