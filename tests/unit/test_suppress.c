/* Suppressions: patterns as LeakSanitizer matches them, files with comments and mistakes. */
#include "model/suppress.h"

#include "check.h"

#include <stdlib.h>
#include <unistd.h>

static void patterns(void)
{
    CHECK(suppress_matches("leak", "a_leaky_function"));
    CHECK(!suppress_matches("leak", "a_lean_function"));
    CHECK(!suppress_matches("leak", NULL));
    CHECK(suppress_matches("^foo", "foobar"));
    CHECK(!suppress_matches("^bar", "foobar"));
    CHECK(suppress_matches("bar$", "foobar"));
    CHECK(!suppress_matches("foo$", "foobar"));
    CHECK(suppress_matches("foo$", "foofoo")); /* the last one ends it */
    CHECK(suppress_matches("^foobar$", "foobar"));
    CHECK(!suppress_matches("^fooba$", "foobar"));
    CHECK(suppress_matches("f*b*r", "xx foo bar yy"));
    CHECK(suppress_matches("^lib*.so", "libz.so.1"));
    CHECK(!suppress_matches("^lib*.so$", "libz.so.1"));
    CHECK(suppress_matches("a*a*b$", "aaaaaaaaab"));
    CHECK(!suppress_matches("^a*a*b$", "aaaaaaaaac"));
    CHECK(suppress_matches("*", "anything"));
    CHECK(suppress_matches("ns::f<int[?]>", "ns::f<int[?]>()")); /* nothing else is special */
    CHECK(!suppress_matches("x?y", "xzy"));
}

static void any_frame(void)
{
    const struct table_frame frames[] = {
        {.function = "malloc", .module = "/lib/libc.so.6"},
        {.address = 0x1234, .module = "/usr/lib/libvendor.so.3"},
        {.function = "main", .file = "/src/app/main.c", .line = 7},
    };
    const struct table_stack stack = {.count = 3, .own = 3, .frames = frames};
    struct suppress_rule rules[] = {{.pattern = "^nothing"}, {.pattern = "libvendor"}};
    struct suppress s = {"file", rules, 2};

    CHECK(suppress_find(&s, &stack) == &rules[1]);
    rules[0].pattern = "app/main.c$";
    CHECK(suppress_find(&s, &stack) == &rules[0]); /* the first rule counts */
    rules[0].pattern = "^malloc$";
    CHECK(suppress_find(&s, &stack) == &rules[0]);
    s.count = 0;
    CHECK(suppress_find(&s, &stack) == NULL);
    CHECK(suppress_find(NULL, &stack) == NULL);
    CHECK(suppress_find(&s, NULL) == NULL);
}

static struct suppress *read_text(struct arena *a, const char *text, struct err *err)
{
    static char path[] = "/tmp/tidemark-suppress-XXXXXX";
    char name[sizeof(path)];
    struct suppress *s;
    int fd;

    memcpy(name, path, sizeof(path));
    fd = mkstemp(name);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        return NULL;
    close(fd);
    s = suppress_read(a, name, err);
    unlink(name);
    return s;
}

static void files(void)
{
    struct arena a = {0};
    struct err err = {0};
    struct suppress *s = read_text(&a, "# known\n\nleak:^one$\n  leak:two \r\nleak:three", &err);

    if (CHECK(s != NULL)) {
        CHECK_EQ(s->count, 3);
        CHECK_STR(s->rules[0].pattern, "^one$");
        CHECK_STR(s->rules[1].pattern, "two");
        CHECK_STR(s->rules[2].pattern, "three");
    }
    CHECK(!read_text(&a, "leak:fine\nrace:other\n", &err));
    CHECK(strstr(err.text, "line 2") != NULL);
    CHECK(!read_text(&a, "leak:\n", &err));
    CHECK(!suppress_read(&a, "/nonexistent/file", &err));
    s = read_text(&a, "", &err);
    CHECK(s && s->count == 0);
    arena_free(&a);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"patterns", patterns},
        {"any frame, by function, file and module", any_frame},
        {"files", files},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
