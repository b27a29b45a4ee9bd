/* typed_name - see typed_name.h. The first text keeps the name that Python gives it. */
#include "collect/typed_name.h"

#include "base/hash.h"
#include "base/typed.h"
#include "platform/platform.h"

#include <stdio.h>
#include <string.h>

#define WORDS_ROOM (32u << 10)
#define FIRST 1u /* of those that are numbered */
#define BOOT UINT32_MAX

static uint32_t number_of(struct intmap *texts, const char *text, size_t bytes)
{
    uint64_t key = hash_number(hash_bytes(HASH_START, text, bytes)), number;

    if (intmap_get(texts, key, &number))
        return (uint32_t)number;
    number = FIRST + texts->used + texts->has_zero;
    intmap_put(texts, key, number);
    return (uint32_t)number;
}

uint32_t typed_name_of(struct intmap *texts, unsigned int pid)
{
    char words[WORDS_ROOM + 1];
    size_t left, bytes = pid ? proc_command((int)pid, words, WORDS_ROOM) : 0;
    const char *text;

    words[bytes++] = '\0'; /* its last word may have been cut */
    text = typed_text(words, bytes, &left);
    if (!text)
        return 0;
    return typed_is_boot(text) ? BOOT : number_of(texts, text, strnlen(text, left));
}

uint64_t typed_name_file(uint32_t typed, struct trace_store *s, const char *file, size_t bytes)
{
    static const char string[] = "<string>", boot[] = "<boot of multiprocessing>";
    char numbered[32];

    if (!s || !bytes)
        return 0;
    if (typed <= FIRST || bytes != strlen(string) || memcmp(file, string, bytes) != 0)
        return trace_store_string(s, file, bytes);
    if (typed == BOOT)
        return trace_store_string(s, boot, strlen(boot));
    snprintf(numbered, sizeof(numbered), "<string %u>", typed);
    return trace_store_string(s, numbered, strlen(numbered));
}
