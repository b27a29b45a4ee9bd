/* csv - see csv.h. */
#include "report/csv.h"

#include "base/count.h"
#include "base/utf8.h"

#include <string.h>

bool csv_is_formula(const char *text)
{
    static const char *const wide[] = {"\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d",
                                       "\xef\xbc\xa0"};

    for (int i = 0; i < COUNT(wide); i++)
        if (strncmp(text, wide[i], 3) == 0)
            return true;
    return *text && strchr("=+-@\t\r", *text);
}

void csv_inside(const char *text, FILE *out)
{
    while (*text) {
        const char *shown = text;
        bool kept = *text == '\n' || *text == '\t';
        int n = kept ? 1 : utf8_show(&text, &shown);

        text += kept;
        fputs(*shown == '"' ? "\"" : "", out);
        fwrite(shown, 1, (size_t)n, out);
    }
}

void csv_text(const char *text, FILE *out)
{
    bool formula = csv_is_formula(text), quoted = formula || strpbrk(text, ",\"\r\n");

    fputs(quoted ? "\"" : "", out);
    fputs(formula ? "'" : "", out);
    csv_inside(text, out);
    fputs(quoted ? "\"" : "", out);
}
