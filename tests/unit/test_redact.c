/* redact: what is left out of a command line, and what is not. */
#include "base/redact.h"
#include "check.h"

/* The words of a line, which has '|' between them, redacted, in the same form. */
static const char *line(const char *words, enum redact how)
{
    static char out[1024];
    char in[1024];
    size_t len = strlen(words), used;

    for (size_t i = 0; i < len; i++)
        in[i] = words[i] == '|' ? '\0' : words[i];
    used = redact_words(out, sizeof(out) - 1, in, len, how);
    for (size_t i = 0; i < used; i++)
        out[i] = out[i] ? out[i] : '|';
    out[used] = '\0';
    return out;
}

static void test_known_secrets(void)
{
    CHECK_STR(line("app|--password|hunter2|-v", REDACT_KNOWN), "app|--password|***|-v");
    CHECK_STR(line("app|--password=hunter2|x", REDACT_KNOWN), "app|--password=***|x");
    CHECK_STR(line("app|--api-key|my secret|x", REDACT_KNOWN), "app|--api-key|***|x");
    CHECK_STR(line("app|--API_KEY=a=b|x", REDACT_KNOWN), "app|--API_KEY=***|x");
    CHECK_STR(line("mysql|-phunter2|-uroot", REDACT_KNOWN), "mysql|-p***|-uroot");
    CHECK_STR(line("tool|-p|hunter2", REDACT_KNOWN), "tool|-p|***");
    CHECK_STR(line("env|PGPASSWORD=x|AWS_SECRET_ACCESS_KEY=y|A=z|psql", REDACT_KNOWN),
              "env|PGPASSWORD=***|AWS_SECRET_ACCESS_KEY=***|A=z|psql");
    CHECK_STR(line("curl|https://me:pw@host/x", REDACT_KNOWN), "curl|https://me:***@host/x");
    CHECK_STR(line("curl|-H|Authorization: Bearer abc|x", REDACT_KNOWN),
              "curl|-H|Authorization: *** ***|x");
    CHECK_STR(line("sh|-c|TOKEN=abc run --token def 'x'", REDACT_KNOWN),
              "sh|-c|TOKEN=*** run --token *** 'x'");
}

static void test_plain_words(void)
{
    CHECK_STR(line("python3|app.py|--size|10", REDACT_KNOWN), "python3|app.py|--size|10");
    CHECK_STR(line("curl|http://host:80/x", REDACT_KNOWN), "curl|http://host:80/x");
    CHECK_STR(line("app|--no-password|-v", REDACT_KNOWN), "app|--no-password|-v");
    CHECK_STR(line("app|--password|x", REDACT_NOTHING), "app|--password|x");
    CHECK_STR(line("", REDACT_KNOWN), "");
}

static void test_all_arguments(void)
{
    CHECK_STR(line("app|one|two words|", REDACT_ALL), "app|***|***|");
    CHECK_STR(line("app", REDACT_ALL), "app");
}

/* Words that become longer are cut, never written behind the room. */
static void test_little_room(void)
{
    char out[6] = "xxxxx";

    CHECK_EQ(redact_words(out, 5, "a\0b\0c\0d", 7, REDACT_ALL), 5);
    CHECK_EQ(out[5], 0);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"secrets by their names", test_known_secrets},
        {"words that stay", test_plain_words},
        {"all arguments", test_all_arguments},
        {"little room", test_little_room},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
