/* format_html - the report page: one file that works without anything else. The page is a template
 * that was bundled with the tool; here the data of the recording, or of two, is put in its place,
 * and nothing else of a trace: base64 needs no escaping, so no name of a trace can become HTML. See
 * docs/PAGE.md.
 */
#include "base/count.h"
#include "report/formats.h"
#include "report/page_template.h"

#include <string.h>

#define MARKER "<!--DATA-->"

static void put_base64(const unsigned char *data, size_t count, FILE *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < count; i += 3) {
        unsigned int more = count - i > 2 ? 2 : (unsigned int)(count - i - 1);
        unsigned int word = (unsigned int)data[i] << 16 |
                            (more ? (unsigned int)data[i + 1] << 8 : 0) |
                            (more > 1 ? data[i + 2] : 0);

        fputc(digits[word >> 18], out);
        fputc(digits[word >> 12 & 63], out);
        fputc(more ? digits[word >> 6 & 63] : '=', out);
        fputc(more > 1 ? digits[word & 63] : '=', out);
    }
}

static void put_script(const struct answer_page *p, const char *id, FILE *out)
{
    if (!p->count)
        return;
    fprintf(out, "<script type=\"application/octet-stream\" id=\"tide-%s\">", id);
    put_base64(p->bytes, p->count, out);
    fputs("</script>\n", out);
}

static void put_data(const struct answer *a, FILE *out)
{
    char id[32];

    for (int i = 0; i < COUNT(a->pages); i++) {
        const struct answer_page *p = &a->pages[i];

        snprintf(id, sizeof(id), "%c", 'a' + i);
        put_script(p, id, out);
        for (size_t k = 0; k < p->beside_count; k++) {
            snprintf(id, sizeof(id), "%c-%zu", 'a' + i, k);
            put_script(&p->beside[k], id, out);
        }
    }
}

static void write_html(const struct answer *a, FILE *out)
{
    const unsigned char *at = memmem(page_template, page_template_bytes, MARKER, strlen(MARKER));
    size_t before = at ? (size_t)(at - page_template) : page_template_bytes;

    fwrite(page_template, 1, before, out);
    put_data(a, out);
    if (at)
        fwrite(at + strlen(MARKER), 1, page_template_bytes - before - strlen(MARKER), out);
}

static const char *missing(void)
{
    return page_template_missing;
}

const struct format format_html = {
    .name = "html",
    .summary = "one page with charts and every view, which opens in a browser without network",
    .question = "page",
    .pair = true,
    .missing = missing,
    .write = write_html,
};
