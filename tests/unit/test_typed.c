/* A program of Python that is given as text, found in command lines. */
#include "base/count.h"
#include "base/typed.h"

#include "check.h"

#include <string.h>

#define TEXT_OF(words) text_of(words, sizeof(words))

/* Of words as the kernel gives them, each ended by a NUL; "": none. */
static const char *text_of(const char *words, size_t bytes)
{
    size_t left = 0;
    const char *text = typed_text(words, bytes, &left);

    CHECK(!text || left == (size_t)(words + bytes - text));
    return text ? text : "";
}

static void the_text_is_the_word_behind_c(void)
{
    CHECK(strcmp(TEXT_OF("python3\0-c\0import x\0-c\0y"), "import x") == 0);
    CHECK(strcmp(TEXT_OF("python3\0-Iuc\0import x"), "import x") == 0);
    CHECK(strcmp(TEXT_OF("python3\0-cimport x"), "import x") == 0);
    CHECK(strcmp(TEXT_OF("python3\0-W\0c\0-X\0dev\0-c\0x"), "x") == 0);
    CHECK(strcmp(TEXT_OF("python3\0--check-hash-based-pycs\0never\0-c\0x"), "x") == 0);
    CHECK(strcmp(TEXT_OF("python3\0-Wignore\0-c\0x"), "x") == 0);
}

static void who_has_none_has_none(void)
{
    CHECK(strcmp(TEXT_OF("python3\0x.py\0-c\0y"), "") == 0);
    CHECK(strcmp(TEXT_OF("python3\0-m\0pytest\0-c\0y"), "") == 0);
    CHECK(strcmp(TEXT_OF("python3\0-c"), "") == 0);
    CHECK(strcmp(TEXT_OF("python3"), "") == 0);
    CHECK(strcmp(TEXT_OF("python3\0-W"), "") == 0);
    CHECK(strcmp(text_of("", 0), "") == 0);
    CHECK(strcmp(text_of("python3\0-c", 10), "") == 0); /* cut off */
}

static void what_starts_processes_is_known(void)
{
    CHECK(typed_is_boot("from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=5)"));
    CHECK(typed_is_boot("from multiprocessing.resource_tracker import main;main(5)"));
    CHECK(typed_is_boot("from multiprocessing.forkserver import main; main(5, 6, ['a'])"));
    CHECK(
        typed_is_boot("from joblib.externals.loky.backend.resource_tracker import main; main(7)"));
    CHECK(!typed_is_boot("from multiprocessing.pool import ThreadPool; ThreadPool(2)"));
    CHECK(!typed_is_boot("from multiprocessing.spawn import spawn_main; other()"));
    CHECK(!typed_is_boot("import app"));
}

int main(void)
{
    static const struct check_test tests[] = {
        {"the text is the word behind -c", the_text_is_the_word_behind_c},
        {"who has none has none", who_has_none_has_none},
        {"what starts processes is known", what_starts_processes_is_known},
    };

    return check_run(tests, COUNT(tests));
}
