/* test_kept_names - names that are kept from one recording to the next: they are what reading the
 * files anew would give, whatever happened to the files, to the cache or to its folder.
 *
 * The helper is behind a script that counts how often it is started: one that is not started had
 * nothing to read.
 */
#include "base/kept.h"
#include "resolve/resolve.h"

#include "check.h"
#include "folder_help.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ADDRESSES 4096
#define DEEPEST 256

static uint64_t code; /* where that of the target is */

static size_t starts(void)
{
    struct stat log;

    return stat(in_folder("log"), &log) == 0 ? (size_t)log.st_size : 0;
}

/* Everything that was answered, as one text. */
struct answers {
    char *text;
    size_t bytes;
    FILE *to;
};

static void note(void *to, size_t index, const struct resolved_name *names, int count)
{
    const struct answers *a = to;

    fprintf(a->to, "%zu:", index);
    for (int i = 0; i < count; i++)
        fprintf(a->to, " %s %s %u", names[i].function ? names[i].function : "-",
                names[i].file ? names[i].file : "-", names[i].line);
    fputc('\n', a->to);
}

static struct answers ask_at(const char *path, bool cache, uint64_t first, size_t count)
{
    struct resolver_options o = {.cache = cache, .helper = in_folder("helper")};
    struct answers a = {0};
    struct err err;
    struct resolver *r = resolver_create(&o, &err);
    uint64_t addresses[ADDRESSES];
    const char *problem;

    for (size_t i = 0; i < count; i++)
        addresses[i] = first + i;
    a.to = open_memstream(&a.text, &a.bytes);
    resolver_addresses(r, path, NULL, addresses, count, note, &a);
    problem = resolver_problem(r, path);
    fprintf(a.to, "%s\n", problem ? problem : "no problem");
    fclose(a.to);
    resolver_free(r);
    return a;
}

/* Kept or not, the answers are the same, and they are from the helper `times` times. */
static void check_same(const char *path, size_t times)
{
    size_t before = starts();
    struct answers kept = ask_at(path, true, code, ADDRESSES);
    size_t asked = starts() - before;
    struct answers read = ask_at(path, false, code, ADDRESSES);

    CHECK_EQ(asked, times);
    CHECK(kept.bytes == read.bytes && memcmp(kept.text, read.text, read.bytes) == 0);
    free(kept.text);
    free(read.text);
}

static bool says(const char *path, const char *what)
{
    struct answers a = ask_at(path, true, code, ADDRESSES);
    bool found = strstr(a.text, what) != NULL;

    free(a.text);
    return found;
}

/* What was written just now is not kept: another change might not show. */
static void let_settle(void)
{
    usleep(300000);
}

static void fresh(const char *name)
{
    CHECK(sh("rm -rf $C/tidemark/* && mkdir -p $D/%s && cp $T/inlined $D/%s/whole", name, name));
    let_settle();
}

static void test_second_time(void)
{
    fresh("a");
    check_same(in_folder("a/whole"), 1);
    check_same(in_folder("a/whole"), 0);
    CHECK(says(in_folder("a/whole"), "innermost_function"));
    CHECK(sh(
        "test $(stat -c %%a $C/tidemark) = 700 && "
        "test $(stat -c %%a $C/tidemark/*.names) = 600 && test -z \"$(find $C -name '*.unfinished')\""));
}

static void test_other_units(void)
{
    struct answers some;

    fresh("b");
    some = ask_at(in_folder("b/whole"), true, 0, 1); /* nothing is there */
    free(some.text);
    check_same(in_folder("b/whole"), 1);
    check_same(in_folder("b/whole"), 0);
}

static void test_changed_file(void)
{
    fresh("c");
    check_same(in_folder("c/whole"), 1);
    CHECK(sh("cp $T/inlined_cpp $D/c/new 2>&1 || cp $T/spin $D/c/new; mv $D/c/new $D/c/whole"));
    let_settle();
    check_same(in_folder("c/whole"), 1);
    CHECK(sh("strip --strip-debug $D/c/whole"));
    let_settle();
    check_same(in_folder("c/whole"), 1);
    CHECK(sh("rm $D/c/whole"));
    check_same(in_folder("c/whole"), 1);
    check_same(in_folder("c/whole"), 0); /* that it is not there is known as well */
    CHECK(says(in_folder("c/whole"), "is not there any more"));
}

static void test_debug_file_later(void)
{
    fresh("d");
    CHECK(sh("cd $D/d && mkdir -p .debug && objcopy --only-keep-debug whole later && "
             "objcopy --strip-all --add-gnu-debuglink=later whole && mv later ../later"));
    let_settle();
    check_same(in_folder("d/whole"), 1);
    check_same(in_folder("d/whole"), 0);
    CHECK(!says(in_folder("d/whole"), "innermost_function"));
    CHECK(sh("mv $D/later $D/d/.debug/later"));
    let_settle();
    CHECK(says(in_folder("d/whole"), "innermost_function"));
    check_same(in_folder("d/whole"), 0);
    CHECK(sh("rm $D/d/.debug/later"));
    check_same(in_folder("d/whole"), 1);
}

static void test_young_file(void)
{
    fresh("e");
    CHECK(sh("touch -d '+1 hour' $D/e/whole"));
    let_settle();
    check_same(in_folder("e/whole"), 1);
    check_same(in_folder("e/whole"), 1);
}

/* Each byte in turn would take long: some hundred of them, all over the file. */
static void test_damaged_cache(void)
{
    struct answers read;
    char name[512] = "";
    FILE *list;
    long size = 0;

    fresh("f");
    check_same(in_folder("f/whole"), 1);
    list = popen("ls $C/tidemark/*.names", "r");
    CHECK(list && fscanf(list, "%500s", name) == 1);
    if (list)
        pclose(list);
    read = ask_at(in_folder("f/whole"), false, code, ADDRESSES);
    CHECK(sh("cp '%s' $D/good", name));
    for (int i = 0; i < 60; i++) {
        struct answers damaged;
        FILE *f = fopen(name, "r+");

        if (!CHECK(f != NULL))
            break;
        fseek(f, 0, SEEK_END);
        size = ftell(f);
        fseek(f, size * i / 60, SEEK_SET);
        fputc(fgetc(f) ^ 1 << i % 8, (fseek(f, size * i / 60, SEEK_SET), f));
        fclose(f);
        damaged = ask_at(in_folder("f/whole"), true, code, ADDRESSES);
        CHECK(damaged.bytes == read.bytes && memcmp(damaged.text, read.text, read.bytes) == 0);
        free(damaged.text);
        CHECK(sh("cp $D/good '%s'", name));
    }
    CHECK(truncate(name, size / 2) == 0);
    check_same(in_folder("f/whole"), 1);
    check_same(in_folder("f/whole"), 0);
    free(read.text);
}

/* In a process of its own, because the folder is looked for once. */
static bool is_used_after(const char *command)
{
    int status;
    pid_t pid;

    fflush(stdout);
    if (!CHECK(sh("%s", command)))
        return false;
    pid = fork();
    if (pid == 0)
        _exit(kept_any() ? 0 : 1);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_folders(void)
{
    setenv("XDG_CACHE_HOME", in_folder("x"), 1);
    setenv("X", in_folder("x"), 1);
    CHECK(is_used_after("rm -rf $X"));
    CHECK(is_used_after("mkdir -p $X/tidemark && chmod 700 $X/tidemark"));
    CHECK(!is_used_after("chmod 755 $X/tidemark"));
    CHECK(!is_used_after("rm -rf $X/tidemark && mkdir $D/elsewhere && chmod 700 $D/elsewhere && "
                         "ln -s $D/elsewhere $X/tidemark"));
    CHECK(!is_used_after("rm -rf $X/tidemark && touch $X/tidemark"));
    CHECK(!is_used_after("rm -rf $X && mkdir $X && chmod 777 $X"));
    if (geteuid() == 0) {
        CHECK(!is_used_after("rm -rf $X && mkdir -p $X && chown 65534 $X"));
        CHECK(
            !is_used_after("rm -rf $X && mkdir -p -m 700 $X/tidemark && chown 65534 $X/tidemark"));
    }
    setenv("XDG_CACHE_HOME", "relative", 1);
    CHECK(!is_used_after("true"));
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", in_folder("home"), 1);
    CHECK(!is_used_after("rm -rf $HOME"));
    CHECK(is_used_after("mkdir $HOME") && sh("test -d $HOME/.cache/tidemark"));
    unsetenv("HOME");
    CHECK(!is_used_after("true"));
    setenv("XDG_CACHE_HOME", getenv("C"), 1);
}

static bool write_some(int fd, const void *from, size_t size)
{
    return write(fd, from, size) == (ssize_t)size;
}

static bool write_half(int fd, const void *from, size_t size)
{
    (void)!write(fd, from, size / 2);
    return false;
}

static void test_files(void)
{
    int fd;

    fresh("g");
    free(ask_at(in_folder("g/whole"), true, code, 1).text);
    kept_put("thing", write_some, "good", 4);
    fd = kept_open("thing");
    CHECK(fd >= 0 && close(fd) == 0);
    kept_put("half", write_half, "good", 4);
    CHECK(kept_open("half") < 0 && sh("test -z \"$(find $C -name '*.unfinished')\""));
    CHECK(sh("chmod 666 $C/tidemark/thing") && kept_open("thing") < 0);
    CHECK(sh("cd $C/tidemark && chmod 600 thing && ln -s thing link && mkfifo fifo"));
    CHECK(kept_open("link") < 0 && kept_open("fifo") < 0 && kept_open("..") < 0);
    CHECK(sh("cd $C/tidemark && touch -d '70 days ago' old && touch -d '50 days ago' young && "
             "touch -d '2 hours ago' 1-2.unfinished"));
    kept_put("thing", write_some, "good", 4);
    CHECK(sh("cd $C/tidemark && test ! -e old && test ! -e 1-2.unfinished && test -e young"));
    CHECK(sh("cd $C/tidemark && truncate -s 200M large && touch -d '3 days ago' large && "
             "truncate -s 100M larger && touch -d '2 days ago' larger"));
    kept_put("thing", write_some, "good", 4);
    CHECK(sh(
        "cd $C/tidemark && test ! -e large && test ! -e young && test -e larger && test -e thing"));
}

/* It prints the addresses of two calls: what is around the first. */
static uint64_t code_of(const char *target)
{
    unsigned long address = 0;
    FILE *out = popen(target, "r");

    if (!out || fscanf(out, "%lx", &address) != 1)
        address = 0;
    if (out)
        pclose(out);
    return address - ADDRESSES / 2;
}

int main(void)
{
    static const struct check_test tests[] = {
        {"a folder that others may write to, a link or none at all is not used", test_folders},
        {"a file that is known is not read again", test_second_time},
        {"addresses that were not asked for before are named as well", test_other_units},
        {"a file that changed, or went, is read again", test_changed_file},
        {"debug information that is installed later is found", test_debug_file_later},
        {"a file that may change again within its date is not kept", test_young_file},
        {"a damaged cache changes no answer", test_damaged_cache},
        {"what is kept is whole, ours, and not too much", test_files},
    };
    int failed;

    if (!mkdtemp(folder))
        return 1;
    setenv("D", folder, 1);
    setenv("T", TARGETS, 1);
    setenv("C", in_folder("cache"), 1);
    setenv("XDG_CACHE_HOME", in_folder("cache"), 1);
    if (!sh("printf '#!/bin/sh\\nprintf x >> %s/log\\nexec %s \"$@\"\\n' > $D/helper && "
            "chmod 755 $D/helper",
            folder, HELPER))
        return 1;
    code = code_of("$T/inlined");
    failed = check_run(tests, sizeof(tests) / sizeof(tests[0]));
    sh("rm -rf $D");
    return failed;
}
