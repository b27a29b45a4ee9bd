/* chrome_event - see chrome_event.h. */
#include "report/chrome_event.h"

static void put_key(struct emit *j, const char *key, uint64_t number)
{
    emit_key(j, key);
    emit_number(j, number);
}

void chrome_begin(struct emit *j, const char *phase, const char *name, uint64_t pid, uint64_t ns)
{
    emit_open(j, '{');
    j->flat = true;
    emit_key(j, "ph");
    emit_text(j, phase);
    emit_key(j, "name");
    emit_text(j, name);
    put_key(j, "pid", pid);
    emit_key(j, "ts");
    emit_real(j, (double)ns / 1e3);
}

void chrome_end(struct emit *j)
{
    emit_close(j, '}');
    j->flat = false;
}

void chrome_name(struct emit *j, const char *what, uint64_t pid, uint64_t tid, const char *name)
{
    chrome_begin(j, "M", what, pid, 0);
    put_key(j, "tid", tid);
    emit_key(j, "args");
    emit_open(j, '{');
    emit_key(j, "name");
    emit_text(j, name);
    emit_close(j, '}');
    chrome_end(j);
}

void chrome_span(struct emit *j, const char *name, uint64_t pid, uint64_t tid, uint64_t from_ns,
                 uint64_t length_ns)
{
    chrome_begin(j, "X", name, pid, from_ns);
    put_key(j, "tid", tid);
    emit_key(j, "dur");
    emit_real(j, (double)length_ns / 1e3);
    chrome_end(j);
}
