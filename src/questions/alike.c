/* alike - see alike.h. A word is a row of letters and digits, or another character by itself. */
#include "questions/alike.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WORDS_MOST 64

struct words {
    struct word {
        const char *text;
        size_t length;
    } list[WORDS_MOST];
    int count;
};

static bool is_of_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static void split(struct words *w, const char *text)
{
    w->count = 0;
    while (w->count < WORDS_MOST) {
        const char *start = text += strspn(text, " \t\r\n");

        if (!*text)
            return;
        while (is_of_word(*text))
            text++;
        text += text == start;
        w->list[w->count++] = (struct word){start, (size_t)(text - start)};
    }
}

static bool take(const struct words *of, const struct word *word, uint64_t *taken)
{
    for (int i = 0; i < of->count; i++)
        if (!(*taken >> i & 1) && of->list[i].length == word->length &&
            memcmp(of->list[i].text, word->text, word->length) == 0) {
            *taken |= UINT64_C(1) << i;
            return true;
        }
    return false;
}

double alike_lines(const char *a, const char *b)
{
    struct words left, right;
    uint64_t taken = 0;
    int common = 0;

    split(&left, a);
    split(&right, b);
    for (int i = 0; i < right.count; i++)
        common += take(&left, &right.list[i], &taken);
    return left.count + right.count ? 2.0 * common / (left.count + right.count) : 0;
}
