/* brief: names of C++ and paths that do not fit, as they are shown then. */
#include "check.h"
#include "report/brief.h"

static const char *name(const char *text)
{
    static char out[BRIEF_ROOM];

    return brief_name(out, text, false);
}

static void test_brackets(void)
{
    CHECK_STR(name("Registry<std::pair<int, A<B> >, C>::add(int, long)"),
              "Registry<...>::add(...)");
    CHECK_STR(name("main()"), "main()");
    CHECK_STR(name("f<g(h->i)>"), "f<...>");
    CHECK_STR(name("main::{lambda(int)#1}::operator()(int) const"),
              "main::{lambda(...)#1}::operator()(...) const");
    CHECK_STR(name("operator<<(A<B>&, C)"), "operator<<(...)");
    CHECK_STR(name("(anonymous namespace)::f(int)"), "(anonymous namespace)::f(...)");
    CHECK_STR(name("a::(anonymous namespace)::f(int)"), "a::(anonymous namespace)::f(...)");
}

static void test_types(void)
{
    CHECK_STR(name("std::map<A, B> ns::build<A>(std::vector<A> const&)"), "ns::build<...>(...)");
    CHECK_STR(name("operator new(unsigned long)"), "operator new(...)");
}

static void test_places(void)
{
    CHECK_STR(name("f<A>(int) (/usr/src/app.cc:12) [inlined]"),
              "f<...>(...) (app.cc:12) [inlined]");
    CHECK_STR(name("work.<locals>.<genexpr> (/a/b.py:3)"), "work.<locals>.<genexpr> (b.py:3)");
    CHECK_STR(name("main (app.c:3)"), "main (app.c:3)");
}

/* Whatever a name is, it ends in its room. */
static void test_what_does_not_match(void)
{
    char text[4 * BRIEF_ROOM];

    CHECK_STR(name(""), "");
    CHECK_STR(name("f<<<<"), "f<<<<");
    CHECK_STR(name("f)>]("), "f)>](");
    for (size_t i = 0; i < sizeof(text) - 1; i++)
        text[i] = "ab<(:"[i % 5];
    text[sizeof(text) - 1] = '\0';
    CHECK(strlen(name(text)) < BRIEF_ROOM);
}

static void test_paths(void)
{
    CHECK_STR(brief_path("/a/b/c/d.py"), "c/d.py");
    CHECK_STR(brief_path("/d.py"), "d.py");
    CHECK_STR(brief_path("c/d.py"), "c/d.py");
    CHECK_STR(brief_path("(the standard library)"), "(the standard library)");
    CHECK_STR(brief_path(""), "");
}

int main(void)
{
    static const struct check_test tests[] = {
        {"what is in brackets goes", test_brackets},
        {"so does the type that is returned", test_types},
        {"where it is stays", test_places},
        {"brackets that do not match do no harm", test_what_does_not_match},
        {"paths keep their last two parts", test_paths},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
