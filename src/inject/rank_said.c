/* rank_said - see rank_said.h. What a program puts into its environment later, as processes do that
 * multiprocessing has started, is seen where it does so: setenv and putenv.
 */
#include "inject/rank_said.h"

#include "inject/own_rank.h"
#include "inject/process.h"
#include "inject/real.h"
#include "inject/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* All that is known, again: what was said before stays as it is. */
static void tell_all(struct caller c)
{
    int kept = errno;
    struct thread *t;

    local.quiet = 1;
    t = process_recorded() ? record_enter(c.sp) : NULL;
    if (t) {
        own_rank_tell(t);
        record_leave();
    }
    local.quiet = 0;
    errno = kept;
}

static void tell(size_t which, const char *digits, size_t count, struct caller c)
{
    own_rank_keep(which, digits, count);
    tell_all(c);
}

/* Of a program that was joined while it ran, the environment may be changing right now. */
void ranks_start(struct caller c)
{
    if (process_has_collector() && environ && own_rank_learn(environ))
        tell_all(c);
}

static void tell_number(size_t which, uint64_t number, struct caller c)
{
    char text[RING_RANK_DIGITS];
    size_t at = sizeof(text);

    do {
        text[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number && at);
    if (!number)
        tell(which, text + at, sizeof(text) - at, c);
}

void ranks_said(uint64_t rank, uint64_t world, struct caller c)
{
    tell_number(0, rank, c);
    if (world)
        tell_number(1, world, c);
}

EXPORT int setenv(const char *name, const char *value, int overwrite)
{
    int result = real_now()->setenv(name, value, overwrite);
    size_t which = result == 0 && overwrite ? own_rank_which(name, strlen(name)) : OWN_RANK_NAMES;

    if (which < OWN_RANK_NAMES)
        tell(which, value, own_rank_digits(value), CALLER());
    return result;
}

EXPORT int putenv(char *text)
{
    int result = real_now()->putenv(text);
    const char *equals = result == 0 ? strchr(text, '=') : NULL;
    size_t which = equals ? own_rank_which(text, (size_t)(equals - text)) : OWN_RANK_NAMES;

    if (which < OWN_RANK_NAMES)
        tell(which, equals + 1, own_rank_digits(equals + 1), CALLER());
    return result;
}
