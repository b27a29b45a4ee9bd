/* terminal - see terminal.h. */
#include "report/terminal.h"

#include "base/text.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_LEAST 20
#define WIDTH_MOST 1000

static int width_of(int fd)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size = {0};
    uint64_t width;

    if (columns && text_parse_number(columns, &width) && width)
        return width < WIDTH_LEAST ? WIDTH_LEAST : width > WIDTH_MOST ? WIDTH_MOST : (int)width;
    if (fd >= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col)
        return size.ws_col < WIDTH_LEAST ? WIDTH_LEAST : size.ws_col;
    return 80;
}

static bool says_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (int i = 0; i < 3; i++) {
        const char *value = getenv(variables[i]);

        if (value && *value) /* the first that is set decides, as setlocale(3) does it */
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

struct terminal terminal_of(FILE *out)
{
    int fd = fileno(out);
    const char *none = getenv("NO_COLOR"), *kind = getenv("TERM");
    bool dumb = !kind || strcmp(kind, "dumb") == 0;

    return (struct terminal){
        .width = width_of(fd),
        .utf8 = says_utf8(),
        .colour = fd >= 0 && isatty(fd) && !(none && *none) && !dumb,
    };
}

void terminal_put(FILE *out, const char *text)
{
    while (*text) {
        const char *shown;
        int n = utf8_show(&text, &shown);

        fwrite(shown, 1, (size_t)n, out);
    }
}

void terminal_put_within(FILE *out, const char *text, int width, const struct terminal *terminal)
{
    int whole = (int)text_width(text), dots = terminal->utf8 ? 1 : 3, head = (width - dots) / 2;
    int from = whole - (width - dots - head); /* of the end that is shown */

    if (whole <= width) {
        terminal_put(out, text);
        return;
    }
    if (width < 2 * dots) { /* no room for both ends */
        head = width > 0 ? width : 0;
        from = whole;
    }
    for (int column = 0; *text; column++) {
        const char *shown;
        int n = utf8_show(&text, &shown);

        if (column < head || column >= from)
            fwrite(shown, 1, (size_t)n, out);
        else if (column == head && from < whole)
            fputs(terminal->utf8 ? "…" : "...", out);
    }
}

void terminal_put_wrapped(FILE *out, const char *text, int column, const struct terminal *terminal)
{
    int width = terminal->width, used = column;

    while (*text) {
        size_t gap = strspn(text, " "), n = strcspn(text + gap, " ");
        char word[256];
        int wide;

        text += gap;
        n = n < sizeof(word) - 1 ? n : sizeof(word) - 1;
        memcpy(word, text, n);
        word[n] = '\0';
        wide = (int)text_width(word);
        if (used > column && used + (int)gap + wide > width) {
            fprintf(out, "\n%*s", column, "");
            used = column;
        } else if (*text) {
            fprintf(out, "%*s", (int)gap, "");
            used += (int)gap;
        }
        terminal_put_within(out, word, width - used, terminal);
        used += wide;
        text += n;
    }
}

void terminal_put_padding(FILE *out, int n)
{
    fprintf(out, "%*s", n > 0 ? n : 0, "");
}

void terminal_put_name(FILE *out, const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        fputc(name[i] == '_' ? ' ' : name[i], out);
}
