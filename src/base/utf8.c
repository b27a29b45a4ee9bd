/* utf8 - see utf8.h. */
#include "base/utf8.h"

#include "base/count.h"
#include <string.h>

int utf8_sequence(const char *text, uint32_t *point)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    int length = s[0] < 0x80 ? s[0] != 0 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

    *point = s[0];
    if (length < 2 || s[0] > 0xf4)
        return length < 2 ? length : 0;
    *point = s[0] & (0x7fu >> length);
    for (int i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        *point = *point << 6 | (s[i] & 0x3f);
    }
    if (*point < lowest[length] || *point > 0x10ffff || (*point >= 0xd800 && *point < 0xe000))
        return 0;
    return length;
}

bool utf8_is_plain(uint32_t point)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0x00, 0x1f},       {0x7f, 0x9f},
        {0xad, 0xad}, /* controls; the soft hyphen */
        {0x34f, 0x34f},     {0x61c, 0x61c},
        {0x115f, 0x1160}, /* joiner, Arabic mark, fillers */
        {0x17b4, 0x17b5},   {0x180b, 0x180f},
        {0x200b, 0x200f}, /* zero width, direction marks */
        {0x2028, 0x202e},   {0x2060, 0x206f},
        {0x3164, 0x3164}, /* separators, overrides, isolates */
        {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
        {0xfff0, 0xfffb}, /* byte order mark, annotations */
        {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
        {0xe0000, 0xe0fff}, /* formats, tags */
    };

    if (point >= ' ' && point < 0x7f) /* nearly all */
        return true;
    for (int i = 0; i < COUNT(hidden); i++)
        if (point >= hidden[i].first && point <= hidden[i].last)
            return false;
    return true;
}

int utf8_show(const char **s, const char **shown)
{
    uint32_t point;
    int length = utf8_sequence(*s, &point);

    *shown = *s;
    *s += length ? length : 1;
    if (length && utf8_is_plain(point))
        return length;
    *shown = length && (point == '\n' || point == '\t') ? " " : "?";
    return 1;
}

char *utf8_clean(char *out, size_t room, const char *text)
{
    size_t used = 0;

    while (*text) {
        const char *shown;
        int n = utf8_show(&text, &shown);

        if (used + (size_t)n >= room)
            break;
        memcpy(out + used, shown, (size_t)n);
        used += (size_t)n;
    }
    out[used] = '\0';
    return out;
}
