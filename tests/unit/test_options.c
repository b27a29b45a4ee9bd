/* options: every way to spell an option, and the sentence for every way to get it wrong. */
#include "base/options.h"
#include "check.h"

#include <stdlib.h>

static bool json, csv, verbose;
static const char *output, *sort, *color;
static long size;

static int parse_even(const char *text, void *to, struct err *err)
{
    long value = strtol(text, NULL, 10);

    if (value % 2)
        return err_set(err, "'%s' is odd", text);
    *(long *)to = value;
    return 0;
}

static const struct option table[] = {
    {.letter = 'j', .name = "json", .to = &json, .excludes = "nothing csv"},
    {.letter = 'c', .name = "csv", .to = &csv},
    {.letter = 'v', .name = "verbose", .to = &verbose},
    {.letter = 'o', .name = "output", .argument = "FILE", .to = &output},
    {.letter = 's', .name = "size", .argument = "N", .to = &size, .parse = parse_even},
    {.name = "sort", .argument = "KEY", .to = &sort, .choices = "name size"},
    {.letter = 'k', .name = "color", .argument = "[WHEN]", .to = &color, .choices = "auto never"},
    {0},
};

static struct err err;
static char *words[16];
static int count;

/* Split `line` at spaces, parse it; the operands are in words[1..]. */
static int parse(const char *line, bool permute)
{
    static char copy[256];

    json = csv = verbose = false;
    output = sort = color = NULL;
    size = -1;
    memset(&err, 0, sizeof(err));
    snprintf(copy, sizeof(copy), "%s", line);
    words[0] = "test";
    count = 1;
    for (char *at = strtok(copy, " "); at; at = strtok(NULL, " "))
        words[count++] = at;
    words[count] = NULL;
    return options_parse(table, count, words, permute, &err);
}

/* The sentence of a parse that must fail with `code`. */
static const char *failure(const char *line, int code)
{
    int result = parse(line, true);

    CHECK(result == -1);
    CHECK(err.code == code);
    return err.text;
}

static const char *misuse(const char *line)
{
    return failure(line, OPTIONS_MISUSE);
}

static void spellings(void)
{
    static const char *const same[] = {"-s512", "-s 512", "-s=512", "--size 512", "--size=512"};

    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        CHECK_EQ(parse(same[i], false), 0);
        CHECK(size == 512);
    }
    CHECK_EQ(parse("-jv", false), 0);
    CHECK(json && verbose && !csv);
    CHECK_EQ(parse("-jvs 4", false), 0);
    CHECK(json && verbose && size == 4);
    CHECK_EQ(parse("-vofile", false), 0);
    CHECK_STR(output, "file");
    CHECK_EQ(parse("--output=", false), 0);
    CHECK_STR(output, "");
    CHECK_EQ(parse("--output=a=b", false), 0);
    CHECK_STR(output, "a=b");
    CHECK_EQ(parse("--output --json", false), 0);
    CHECK_STR(output, "--json");
    CHECK(!json);
}

static void optional_values(void)
{
    CHECK_EQ(parse("", false), 0);
    CHECK(color == NULL);
    CHECK_EQ(parse("--color never", false), 1);
    CHECK_STR(color, "");
    CHECK_STR(words[1], "never");
    CHECK_EQ(parse("--color=never", false), 0);
    CHECK_STR(color, "never");
    CHECK_EQ(parse("-kj", false), 0);
    CHECK(json);
    CHECK_STR(color, "");
    CHECK_STR(misuse("--color=red"), "--color: 'red' is not one of auto, never");
}

static void operands_end_options(void)
{
    CHECK_EQ(parse("-j sleep -c --nope 1", false), 4);
    CHECK(json && !csv);
    CHECK_STR(words[1], "sleep");
    CHECK_STR(words[2], "-c");
    CHECK_STR(words[3], "--nope");
    CHECK_STR(words[4], "1");
    CHECK(words[5] == NULL);
    CHECK_EQ(parse("-- -j", false), 1);
    CHECK_STR(words[1], "-j");
    CHECK(!json);
    CHECK_EQ(parse("-- -- x", false), 2);
    CHECK_STR(words[1], "--");
}

static void operands_mix(void)
{
    CHECK_EQ(parse("a -j b -o f c -- -v --", true), 5);
    CHECK(json && !verbose);
    CHECK_STR(output, "f");
    CHECK_STR(words[1], "a");
    CHECK_STR(words[2], "b");
    CHECK_STR(words[3], "c");
    CHECK_STR(words[4], "-v");
    CHECK_STR(words[5], "--");
    CHECK(words[6] == NULL);
    CHECK_EQ(parse("-", true), 1);
    CHECK_STR(words[1], "-");
}

static void any_bytes(void)
{
    CHECK_EQ(parse("--output=\xff\xfe -- \x80", true), 1);
    CHECK_STR(output, "\xff\xfe");
    CHECK_STR(words[1], "\x80");
    CHECK_STR(misuse("--\xff"), "unknown option '--\xff'");
}

static void unknown(void)
{
    CHECK_STR(misuse("--foo"), "unknown option '--foo'");
    CHECK_STR(misuse("--jsn"), "unknown option '--jsn' (did you mean '--json'?)");
    CHECK_STR(misuse("--outptu=x"), "unknown option '--outptu' (did you mean '--output'?)");
    CHECK_STR(misuse("--verb"), "unknown option '--verb' (did you mean '--verbose'?)");
    CHECK_STR(misuse("--hepl"), "unknown option '--hepl' (did you mean '--help'?)");
    CHECK_STR(misuse("-x"), "unknown option '-x'");
    CHECK_STR(misuse("-verbose"), "unknown option '-verbose' (did you mean '--verbose'?)");
    CHECK_STR(misuse("--="), "unknown option '--'");
}

static void long_words(void)
{
    static char word[4096];

    memset(word, 'x', sizeof(word) - 1);
    memcpy(word, "--", 2);
    words[0] = "test";
    words[1] = word;
    words[2] = NULL;
    CHECK(options_parse(table, 2, words, false, &err) == -1);
    CHECK(err.code == OPTIONS_MISUSE);
    CHECK(strncmp(err.text, "unknown option '--xxx", 21) == 0);
}

static void conflicts(void)
{
    CHECK_STR(misuse("--json --csv"), "--csv cannot be used with --json");
    CHECK_STR(misuse("-c -j"), "--json cannot be used with --csv");
    CHECK_STR(misuse("-j --json"), "--json is given twice");
    CHECK_STR(misuse("-o a --output=b"), "--output is given twice");
    CHECK_EQ(parse("-jv", true), 0);
}

static void values(void)
{
    CHECK_STR(misuse("--output"), "--output needs a value: FILE");
    CHECK_STR(misuse("-vo"), "-o needs a value: FILE");
    CHECK_STR(misuse("--json=yes"), "--json takes no value, but 'yes' was given");
    CHECK_STR(misuse("-j=yes"), "-j takes no value, but 'yes' was given");
    CHECK_STR(misuse("--size 3"), "--size: '3' is odd");
    CHECK_STR(misuse("-s3"), "-s: '3' is odd");
    CHECK_STR(misuse("--sort date"), "--sort: 'date' is not one of name, size");
    CHECK_STR(misuse("--sort nam"), "--sort: 'nam' is not one of name, size");
    CHECK_EQ(parse("--sort name", true), 0);
    CHECK_STR(sort, "name");
}

static void help_and_version(void)
{
    failure("--help", OPTIONS_HELP);
    failure("-h", OPTIONS_HELP_BRIEF);
    failure("-jh", OPTIONS_HELP_BRIEF);
    failure("--version", OPTIONS_VERSION);
    failure("-V", OPTIONS_VERSION_BRIEF);
    CHECK_EQ(parse("sleep --help", false), 2);
    CHECK_EQ(parse("-o --help", false), 0);
    CHECK_STR(output, "--help");
}

static void find(void)
{
    CHECK(options_find(table, "sort") == &table[5]);
    CHECK(options_find(table, "sor") == NULL);
    CHECK(options_find(table, "") == NULL);
}

static const struct check_test tests[] = {
    {"spellings", spellings},
    {"optional values", optional_values},
    {"the first operand ends the options", operands_end_options},
    {"operands and options mix", operands_mix},
    {"any bytes pass through", any_bytes},
    {"unknown options", unknown},
    {"very long words", long_words},
    {"conflicts and duplicates", conflicts},
    {"values", values},
    {"help and version", help_and_version},
    {"find", find},
};

int main(void)
{
    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
