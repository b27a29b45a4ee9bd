/* page_served - see page_served.h. */
#include "report/page_served.h"

#include "report/page_template.h"

#include <stdio.h>
#include <string.h>

#define MARKER "<!--DATA-->"
#define POLICY "Content-Security-Policy\" content=\""
#define FILE_ALONE "default-src 'none';"
#define SERVED "default-src 'none'; connect-src 'self';"

/* The template in pieces. */
struct pieces {
    const char *policy, *data, *end;
    size_t policy_bytes;
};

static const char *find(const char *from, const char *end, const char *text)
{
    return memmem(from, (size_t)(end - from), text, strlen(text));
}

static bool cut(struct pieces *p)
{
    const char *start = (const char *)page_template, *quote;

    p->end = start + page_template_bytes;
    p->policy = find(start, p->end, POLICY);
    if (!p->policy)
        return false;
    p->policy += strlen(POLICY);
    quote = memchr(p->policy, '"', (size_t)(p->end - p->policy));
    p->policy_bytes = quote ? (size_t)(quote - p->policy) : 0;
    p->data = find(p->policy, p->end, MARKER);
    return p->data && p->policy_bytes > strlen(FILE_ALONE) &&
           memcmp(p->policy, FILE_ALONE, strlen(FILE_ALONE)) == 0;
}

static void put(FILE *out, const struct pieces *p, const char *policy, unsigned int runs)
{
    const char *after = p->policy + p->policy_bytes;

    fwrite(page_template, 1, (size_t)(p->policy - (const char *)page_template), out);
    fputs(policy, out);
    fwrite(after, 1, (size_t)(p->data - after), out);
    for (unsigned int i = 0; i < runs; i++)
        fprintf(out,
                "<script type=\"application/octet-stream\" id=\"tide-%c\" "
                "data-ask=\"data?run=%u\"></script>\n",
                'a' + (int)i, i);
    fwrite(p->data + strlen(MARKER), 1, (size_t)(p->end - p->data) - strlen(MARKER), out);
}

bool page_served(struct page_served *p, unsigned int runs, struct arena *a)
{
    struct pieces pieces;
    FILE *out;

    if (page_template_missing || !cut(&pieces))
        return false;
    p->policy = arena_printf(a, "%s%.*s", SERVED, (int)(pieces.policy_bytes - strlen(FILE_ALONE)),
                             pieces.policy + strlen(FILE_ALONE));
    out = open_memstream(&p->html, &p->bytes);
    if (!out)
        return false;
    put(out, &pieces, p->policy, runs);
    return fclose(out) == 0;
}
