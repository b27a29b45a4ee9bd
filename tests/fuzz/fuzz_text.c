/* fuzz_text - texts that come from people, from the kernel and from strangers: sizes, times, /proc,
 * command lines that lose their secrets, names that are shown.
 */
#include "base/redact.h"
#include "base/rights.h"
#include "base/text.h"
#include "base/utf8.h"
#include "platform/linux_procfs.h"
#include "replay.h"

#include <string.h>

/* What is shown is UTF-8 that may be shown; what is redacted stays within its room. */
static void show(const char *text, size_t size)
{
    size_t room = size / 2 + 1;
    char *out = malloc(room);
    uint32_t point;

    if (!out)
        return;
    for (enum redact how = REDACT_NOTHING; how <= REDACT_ALL; how++)
        if (redact_words(out, room, text, size, how) > room)
            abort();
    utf8_clean(out, room, text);
    for (const char *s = out; *s; s += utf8_sequence(s, &point))
        if (!utf8_sequence(s, &point) || !utf8_is_plain(point))
            abort();
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct proc_reading r = {0};
    struct rights rights;
    struct err err;
    uint64_t number;
    char *text = malloc(size + 1); /* of exactly this size, so that a read beyond it is seen */

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    text_parse_size(text, &number, &err);
    text_parse_interval(text, &number, &err);
    text_parse_number(text, &number);
    text_width(text);
    proc_parse_stat(text, &r);
    proc_parse_status(text, &r);
    show(text, size);
    rights_parse(&rights, text);
    free(text);
    return 0;
}
