/* terminal - see terminal.h. */
#include "report/terminal.h"

#include "base/text.h"

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
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) { /* the second set, U+0080 to U+009F */
            fputc('?', out);
            c++;
        } else if (*c == '\n' || *c == '\t') {
            fputc(' ', out);
        } else {
            fputc(*c < 0x20 || *c == 0x7f ? '?' : *c, out);
        }
    }
}
