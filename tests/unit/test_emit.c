/* json: layout, escapes, numbers; and that another reader (Python's) gets out what we put in. */
#include "base/emit.h"
#include "check.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char *text; /* what was written */
static size_t length;
static struct emit j;

static void begin(bool flat)
{
    free(text);
    text = NULL;
    j = (struct emit){.out = open_memstream(&text, &length), .flat = flat};
}

static const char *end(void)
{
    fclose(j.out);
    return text;
}

static void layout(void)
{
    begin(false);
    emit_open(&j, '{');
    emit_key(&j, "a");
    emit_number(&j, 1);
    emit_key(&j, "b");
    emit_open(&j, '[');
    emit_bool(&j, true);
    emit_null(&j);
    emit_open(&j, '{');
    emit_close(&j, '}');
    emit_close(&j, ']');
    emit_key(&j, "c");
    emit_open(&j, '[');
    emit_close(&j, ']');
    emit_close(&j, '}');
    CHECK_STR(end(),
              "{\n  \"a\": 1,\n  \"b\": [\n    true,\n    null,\n    {}\n  ],\n  \"c\": []\n}");
}

static void flat(void)
{
    begin(true);
    emit_open(&j, '[');
    emit_open(&j, '{');
    emit_key(&j, "a");
    emit_text(&j, "x");
    emit_key(&j, "b");
    emit_bool(&j, false);
    emit_close(&j, '}');
    emit_number(&j, 2);
    emit_close(&j, ']');
    CHECK_STR(end(), "[{\"a\": \"x\", \"b\": false}, 2]");
}

static const char *as_text(const char *value)
{
    begin(false);
    emit_text(&j, value);
    return end();
}

static void escapes(void)
{
    CHECK_STR(as_text(NULL), "null");
    CHECK_STR(as_text(""), "\"\"");
    CHECK_STR(as_text("a\"b\\c/"), "\"a\\\"b\\\\c/\"");
    CHECK_STR(as_text("\n\t\r\x01\x1f\x7f"), "\"\\n\\t\\r\\u0001\\u001f\\u007f\"");
}

#define BAD "\xef\xbf\xbd"

static void utf8(void)
{
    CHECK_STR(as_text("\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8a"),
              "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x8c\x8a\"");
    CHECK_STR(as_text("\xf4\x8f\xbf\xbf"), "\"\xf4\x8f\xbf\xbf\"");
    CHECK_STR(as_text("a\xffz"), "\"a" BAD "z\"");
    CHECK_STR(as_text("\x80"), "\"" BAD "\"");
    CHECK_STR(as_text("\xc3"), "\"" BAD "\"");                         /* cut */
    CHECK_STR(as_text("\xe2\x82"), "\"" BAD BAD "\"");                 /* cut */
    CHECK_STR(as_text("\xe2\x82\""), "\"" BAD BAD "\\\"\"");           /* cut by a quote */
    CHECK_STR(as_text("\xc0\xaf"), "\"" BAD BAD "\"");                 /* overlong */
    CHECK_STR(as_text("\xe0\x80\xaf"), "\"" BAD BAD BAD "\"");         /* overlong */
    CHECK_STR(as_text("\xed\xa0\x80"), "\"" BAD BAD BAD "\"");         /* half a surrogate pair */
    CHECK_STR(as_text("\xf4\x90\x80\x80"), "\"" BAD BAD BAD BAD "\""); /* past the last one */
}

static const char *as_real(double value)
{
    begin(false);
    emit_real(&j, value);
    return end();
}

static void numbers(void)
{
    CHECK_STR(as_real(0.1), "0.1");
    CHECK_STR(as_real(1.0 / 3), "0.3333333333333333");
    CHECK_STR(as_real(0.1 + 0.2), "0.30000000000000004");
    CHECK_STR(as_real(-2.5), "-2.5");
    CHECK_STR(as_real((double)NAN), "null");
    CHECK_STR(as_real((double)-INFINITY), "null");
    CHECK(strtod(as_real(DBL_MAX), NULL) >= DBL_MAX);
    begin(true);
    emit_open(&j, '[');
    emit_number(&j, UINT64_MAX);
    emit_signed(&j, INT64_MIN);
    emit_close(&j, ']');
    CHECK_STR(end(), "[18446744073709551615, -9223372036854775808]");
}

/* Every byte twice, alone and beside others, written as an array of strings. */
static void write_every_byte(void)
{
    emit_open(&j, '[');
    for (int byte = 1; byte < 256; byte++) {
        char value[] = {(char)byte, 'x', (char)byte, (char)0x80, '\0'};
        emit_text(&j, value);
    }
    emit_real(&j, DBL_MIN);
    emit_number(&j, UINT64_MAX);
    emit_close(&j, ']');
}

static const char reader[] =
    "import json, sys\n"
    "got = json.loads(sys.stdin.buffer.read().decode('utf-8'))\n"
    "def want(b):\n"
    "    t = bytes([b]).decode('utf-8', 'replace')\n"
    "    u = bytes([b, 0x80]).decode('utf-8', 'replace')\n"
    "    if b >= 0xc2 and b <= 0xdf: return '\\ufffdx' + u\n"
    "    return t + 'x' + t + '\\ufffd'\n"
    "ok = got == [want(b) for b in range(1, 256)] + [sys.float_info.min, 2**64 - 1]\n"
    "sys.exit(0 if ok else 9)\n";

static void python_reads_it(void)
{
    FILE *python;
    int status;

    if (access("/usr/bin/python3", X_OK)) {
        check_skip("there is no /usr/bin/python3");
        return;
    }
    setenv("READER", reader, 1);
    python = popen("/usr/bin/python3 -c \"$READER\"", "w");
    if (!CHECK(python != NULL))
        return;
    j = (struct emit){.out = python};
    write_every_byte();
    status = pclose(python);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static const struct check_test tests[] = {
    {"layout", layout},   {"flat layout", flat},
    {"escapes", escapes}, {"UTF-8, good and bad", utf8},
    {"numbers", numbers}, {"Python reads every byte back", python_reads_it},
};

int main(void)
{
    int failed = check_run(tests, sizeof(tests) / sizeof(tests[0]));

    free(text);
    return failed;
}
