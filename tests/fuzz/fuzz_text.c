/* fuzz_text - texts that come from people and from the kernel: sizes, times, /proc. */
#include "base/text.h"
#include "replay.h"
#include "watch/procfs.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct proc_reading r = {0};
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
    free(text);
    return 0;
}
