/* test_resolve - names of addresses, from every place that names can come from.
 *
 * tests/targets/inlined prints the addresses of calls whose functions and lines are known; copies
 * of it in a folder of its own are stripped, split, packed and damaged.
 */
#include "base/text.h"
#include "namer/demangled.h"
#include "namer/namer.h"
#include "namer/spans.h"
#include "resolve/resolve.h"

#include "check.h"
#include "folder_help.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define MOST 16

struct place {
    unsigned long address;
    int lines[3];
};

static int places_of(const char *target, struct place *places, int most)
{
    char command[1024];
    FILE *out;
    int n = 0;

    snprintf(command, sizeof(command), "%s/%s", TARGETS, target);
    out = access(command, X_OK) == 0 ? popen(command, "r") : NULL;
    while (out && n < most &&
           fscanf(out, "%lx %d %d %d", &places[n].address, &places[n].lines[0], &places[n].lines[1],
                  &places[n].lines[2]) == 4)
        n++;
    if (out)
        pclose(out);
    return n;
}

static struct place inlined, plain; /* the two calls of the target */

static void build_id(const char *path, char *id, size_t room)
{
    char command[1024];
    FILE *out;

    snprintf(command, sizeof(command),
             "readelf -n '%s' 2>&1 | sed -n 's/.*Build ID: *//p' | tr -d '\\n'", path);
    out = popen(command, "r");
    id[out ? fread(id, 1, room - 1, out) : 0] = 0;
    if (out)
        pclose(out);
}

static struct resolver *create(const char *directory, bool ask)
{
    static const char *directories[1];
    struct resolver_options o = {.debug_directories = directories,
                                 .debug_directory_count = directory != NULL,
                                 .ask_debuginfod = ask,
                                 .helper = HELPER};
    struct err err;

    directories[0] = directory;
    return resolver_create(&o, &err);
}

/* The known call resolves to three functions with their lines. */
static void check_full(struct resolver *r, const char *path, const char *id)
{
    static const char *names[] = {"innermost_function", "middle_function", "outer_function"};
    struct resolved_name out[MOST];
    int n = resolver_address(r, path, id, inlined.address, out, MOST);

    if (!CHECK_EQ(n, 3))
        return;
    for (int i = 0; i < 3; i++) {
        CHECK_STR(out[i].function, names[i]);
        CHECK_EQ(out[i].line, inlined.lines[i]);
        CHECK(out[i].file && strstr(out[i].file, "/inlined.c"));
    }
    CHECK(resolver_problem(r, path) == NULL);
}

/* Only the function that holds the call has a name, and the module's problem says why. */
static void check_symbol(struct resolver *r, const char *path, const char *why)
{
    struct resolved_name out[MOST];
    int n = resolver_address(r, path, NULL, inlined.address, out, MOST);

    if (!CHECK_EQ(n, 1))
        return;
    CHECK_STR(out[0].function, "outer_function");
    CHECK(out[0].file == NULL);
    CHECK_EQ(out[0].line, 0);
    CHECK(resolver_problem(r, path) && strstr(resolver_problem(r, path), why));
}

static void check_nothing(struct resolver *r, const char *path, const char *id, const char *why)
{
    struct resolved_name out[MOST];

    CHECK_EQ(resolver_address(r, path, id, inlined.address, out, MOST), 0);
    CHECK(resolver_problem(r, path) && strstr(resolver_problem(r, path), why));
}

/* The function has no name but where it begins, which is the same for all of its code. */
static void check_place(struct resolver *r, const char *path, const char *id)
{
    struct resolved_name out[MOST], next[MOST];
    const char *base = strrchr(path, '/') + 1;

    if (!CHECK_EQ(resolver_address(r, path, id, inlined.address, out, MOST), 1) ||
        !CHECK(text_is_place(out[0].function, path)))
        return;
    CHECK(strtoull(out[0].function + strlen(base) + 1, NULL, 16) <= inlined.address);
    CHECK(out[0].file == NULL && out[0].line == 0);
    CHECK_EQ(resolver_address(r, path, id, inlined.address - 1, next, MOST), 1);
    CHECK_STR(next[0].function, out[0].function);
    CHECK_EQ(resolver_address(r, path, id, plain.address, next, MOST), 1);
    CHECK(strcmp(next[0].function, out[0].function) != 0);
    CHECK_EQ(resolver_address(r, path, id, UINT64_MAX, next, MOST), 0);
    CHECK(resolver_problem(r, path) &&
          strstr(resolver_problem(r, path), "neither debug information nor symbols"));
}

static void test_inlines(void)
{
    struct resolver *r = create(NULL, false);
    struct resolved_name out[MOST];

    check_full(r, in_folder("whole"), NULL);
    CHECK_EQ(resolver_address(r, in_folder("whole"), NULL, plain.address, out, MOST), 1);
    CHECK_STR(out[0].function, "plain_function");
    CHECK_EQ(out[0].line, plain.lines[0]);
    CHECK_EQ(resolver_address(r, in_folder("whole"), NULL, inlined.address, out, 2), 2);
    CHECK_STR(out[1].function, "middle_function");
    CHECK_EQ(resolver_address(r, in_folder("whole"), NULL, 16, out, MOST), 0);
    CHECK_EQ(resolver_address(r, in_folder("whole"), NULL, UINT64_MAX, out, MOST), 0);
    CHECK_EQ(resolver_address(r, "", NULL, 16, out, MOST), 0);
    resolver_free(r);
}

struct seen {
    struct resolver *resolver;
    size_t next;
};

static void see(void *to, size_t index, const struct resolved_name *names, int count)
{
    struct seen *seen = to;
    bool odd = index % 2;

    CHECK_EQ(index, seen->next++);
    if (CHECK_EQ(count, odd ? 1 : 3))
        CHECK_STR(names[count - 1].function, odd ? "plain_function" : "outer_function");
}

static void see_nothing(void *to, size_t index, const struct resolved_name *names, int count)
{
    (void)names;
    CHECK_EQ(index, (*(size_t *)to)++);
    CHECK_EQ(count, 0);
}

static void test_many_addresses(void)
{
    struct seen seen = {create(NULL, false), 0};
    struct resolver_options o = {.helper = "/bin/false"};
    uint64_t addresses[1001];
    struct err err;
    struct resolver *failing = resolver_create(&o, &err);
    size_t count = sizeof(addresses) / sizeof(addresses[0]), next = 0;

    for (size_t i = 0; i < count; i++)
        addresses[i] = i % 2 ? plain.address : inlined.address;
    resolver_addresses(seen.resolver, in_folder("whole"), NULL, addresses, count, see, &seen);
    CHECK_EQ(seen.next, count);
    resolver_free(seen.resolver);
    resolver_addresses(failing, in_folder("whole"), NULL, addresses, count, see_nothing, &next);
    CHECK_EQ(next, count);
    resolver_free(failing);
}

static void test_cpp(void)
{
    struct resolver *r = create(NULL, false);
    struct resolved_name out[MOST];
    struct place place;
    char path[1024];

    snprintf(path, sizeof(path), "%s/inlined_cpp", TARGETS);
    if (places_of("inlined_cpp", &place, 1) != 1) {
        check_skip("there is no C++ compiler");
    } else if (CHECK_EQ(resolver_address(r, path, NULL, place.address, out, MOST), 2)) {
        CHECK_STR(out[0].function, "shop::shelf<long>::put(long, int)");
        CHECK_EQ(out[0].line, place.lines[0]);
        CHECK_STR(out[1].function, "shop::fill(shop::shelf<long>&)");
        CHECK_EQ(out[1].line, place.lines[1]);
    }
    resolver_free(r);
}

static void test_symbols(void)
{
    struct resolver *r = create(NULL, false);

    if (CHECK(sh("objcopy --strip-debug --remove-section=.gnu_debuglink $D/whole $D/symbols")))
        check_symbol(r, in_folder("symbols"), "no debug information");
    if (CHECK(sh("objcopy --strip-all $D/whole $D/bare")))
        check_place(r, in_folder("bare"), NULL);
    resolver_free(r);
}

static void test_debuglink(void)
{
    struct resolver *r = create(NULL, false);

    CHECK(sh("mkdir -p $D/link/.debug && objcopy --only-keep-debug $D/whole $D/link/there.debug && "
             "objcopy --strip-all --add-gnu-debuglink=$D/link/there.debug $D/whole $D/link/there"));
    check_full(r, in_folder("link/there"), NULL);
    resolver_free(r);
    r = create(NULL, false);
    CHECK(sh("mv $D/link/there.debug $D/link/.debug/"));
    check_full(r, in_folder("link/there"), NULL);
    resolver_free(r);
    r = create(NULL, false);
    CHECK(sh("cd $D/link && objcopy --remove-section=.note.gnu.build-id there noid && "
             "echo >> .debug/there.debug"));
    check_place(r, in_folder("link/noid"), NULL); /* its checksum is another */
    resolver_free(r);
}

static void test_build_id(void)
{
    char id[128];
    struct resolver *r;

    build_id(in_folder("whole"), id, sizeof(id));
    CHECK_EQ(strlen(id), 40);
    CHECK(sh("mkdir -p $D/debug/.build-id/%.2s && objcopy --only-keep-debug $D/whole "
             "$D/debug/.build-id/%.2s/%s.debug && objcopy --strip-all $D/whole $D/split",
             id, id, id + 2));
    r = create(NULL, false);
    check_place(r, in_folder("split"), id);
    resolver_free(r);
    r = create(in_folder("debug"), false);
    check_full(r, in_folder("split"), id);
    check_full(r, in_folder("gone"), id); /* the id is proof enough */
    resolver_free(r);
}

static void test_changed(void)
{
    static const char other[] = "00112233445566778899aabbccddeeff00112233";
    struct resolver *r = create(NULL, false);

    check_nothing(r, in_folder("whole"), other, "has changed");
    check_nothing(r, in_folder("gone"), other, "not there any more");
    check_nothing(r, folder, other, "not a code file");
    CHECK(resolver_problem(r, "/never/asked") == NULL);
    resolver_free(r);
}

static void test_minidebuginfo(void)
{
    struct resolver *r = create(NULL, false);

    if (!sh("command -v xz >/dev/null")) {
        check_skip("there is no xz");
    } else if (CHECK(
                   sh("objcopy --strip-debug $D/whole $D/mini && xz -kf $D/mini && objcopy "
                      "--strip-all --add-section .gnu_debugdata=$D/mini.xz $D/whole $D/packed"))) {
        check_symbol(r, in_folder("packed"), "no debug information");
    }
    resolver_free(r);
}

/* A program of that name stands in for elfutils' own. */
static void test_debuginfod(void)
{
    char id[128], path[4096];
    struct resolver *r = create(NULL, false);

    build_id(in_folder("whole"), id, sizeof(id));
    CHECK(sh("mkdir -p $D/bin && objcopy --strip-all $D/whole $D/asked && "
             "printf '#!/bin/sh\\n[ \"$1 $2\" = \"debuginfo %s\" ] && echo %s/whole\\n' > "
             "$D/bin/debuginfod-find && chmod +x $D/bin/debuginfod-find",
             id, folder));
    snprintf(path, sizeof(path), "%s:%s", in_folder("bin"), getenv("PATH"));
    setenv("PATH", path, 1);
    check_place(r, in_folder("asked"), id); /* nobody is asked unless told to */
    resolver_free(r);
    r = create(NULL, true);
    check_full(r, in_folder("asked"), id);
    resolver_free(r);
}

/* More modules than are kept open, and than the helper may open, each asked twice. */
static void test_many_modules(void)
{
    struct rlimit before, few;
    struct resolver *r = create(NULL, false);
    char name[64];

    getrlimit(RLIMIT_NOFILE, &before);
    few = before;
    few.rlim_cur = 110;
    setrlimit(RLIMIT_NOFILE, &few);
    for (int i = 0; i < 240; i++) {
        snprintf(name, sizeof(name), "many%d", i % 120);
        if (i < 120)
            CHECK(link(in_folder("whole"), in_folder(name)) == 0);
        check_full(r, in_folder(name), NULL);
    }
    resolver_free(r);
    setrlimit(RLIMIT_NOFILE, &before);
}

static void test_demangling(void)
{
    static const char *const pairs[][2] = {
        {"malloc", "malloc"},
        {"_Znot", "_Znot"},
        {"_ZN4shop4fillERNS_5shelfIlEE", "shop::fill(shop::shelf<long>&)"},
        {"_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place"},
        {"_ZN63_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..clone..Clone$GT$5clone"
         "17h0123456789abcdefE",
         "<alloc::vec::Vec<T> as core::clone::Clone>::clone"},
        {"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
    };
    char out[DEMANGLED_MOST];

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
        CHECK_STR(demangled(pairs[i][0], out), pairs[i][1]);
}

/* Each parameter names the one before it twice: 2^60 bytes if it were written out. */
static void test_endless_name(void)
{
    char name[2048] = "_Z1f1AIiiE", digits[8], out[DEMANGLED_MOST];
    static const char BASE36[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    clock_t before = clock();

    for (int i = 0; i < 60; i++) {
        int last = i; /* the substitution that the parameter before became */

        if (last < 36)
            snprintf(digits, sizeof(digits), "%c", BASE36[last]);
        else
            snprintf(digits, sizeof(digits), "%c%c", BASE36[last / 36], BASE36[last % 36]);
        snprintf(name + strlen(name), sizeof(name) - strlen(name), "S_IS%s_S%s_E", digits, digits);
    }
    CHECK(demangled(name, out) == name);
    CHECK(clock() - before < 2 * CLOCKS_PER_SEC);
}

static void test_spans(void)
{
    struct arena arena = {0};
    struct spans s = {0};
    uint32_t what = 0;

    spans_add(&s, &arena, (struct span){.low = 100, .high = 200, .what = 1});
    spans_add(&s, &arena, (struct span){.low = 120, .high = 130, .what = 2});
    spans_add(&s, &arena, (struct span){.low = 120, .high = 130, .what = 3, .rank = 1});
    spans_add(&s, &arena, (struct span){.low = 150, .high = 150, .what = 4}); /* a label */
    spans_add(&s, &arena, (struct span){.low = 300, .high = 300, .what = 5});
    spans_add(&s, &arena, (struct span){.low = 400, .what = SPANS_NOTHING});
    spans_sort(&s);
    CHECK(!spans_find(&s, 99, &what));
    CHECK(spans_find(&s, 100, &what) && what == 1);
    CHECK(spans_find(&s, 129, &what) && what == 3);
    CHECK(spans_find(&s, 130, &what) && what == 1);
    CHECK(spans_find(&s, 160, &what) && what == 1);
    CHECK(spans_find(&s, 200, &what) && what == 4);
    CHECK(spans_find(&s, 399, &what) && what == 5);
    CHECK(!spans_find(&s, 400, &what));
    CHECK(!spans_find(&s, 500, &what));
    arena_free(&arena);
}

/* A helper that ends at once costs the names, which is said, and not the tool; one that is absent
 * is an error.
 */
static void test_helper_fails(void)
{
    struct resolver_options o = {.helper = "/bin/false"};
    struct err err = {0};
    struct resolver *r = resolver_create(&o, &err);
    struct resolved_name out[MOST];

    if (CHECK(r != NULL)) {
        CHECK(resolver_broken(r) == NULL);
        CHECK_EQ(resolver_address(r, in_folder("whole"), NULL, inlined.address, out, MOST), 0);
        CHECK(resolver_broken(r) && strstr(resolver_broken(r), "ends as soon"));
    }
    resolver_free(r);
    o.helper = in_folder("no_helper");
    CHECK(resolver_create(&o, &err) == NULL);
    CHECK(strstr(err.text, "no_helper") != NULL);
}

static unsigned char *read_file(const char *path, size_t *size)
{
    static unsigned char bytes[1 << 20];
    FILE *f = fopen(path, "r");

    *size = f ? fread(bytes, 1, sizeof(bytes), f) : 0;
    if (f)
        fclose(f);
    return bytes;
}

static void ask_damaged(const unsigned char *bytes, size_t size)
{
    struct err err;
    struct namer *n = namer_create(NULL, &err); /* a helper would be forgiven for a crash */
    struct resolved_name out[MOST];
    FILE *f = fopen(in_folder("damaged"), "w");

    CHECK(f && fwrite(bytes, 1, size, f) == size);
    if (f)
        fclose(f);
    for (uint64_t at = inlined.address - 64; at < inlined.address + 64; at += 4)
        CHECK(namer_address(n, in_folder("damaged"), NULL, at, out, MOST) <= MOST);
    namer_free(n);
}

/* Cut anywhere, and with bytes changed anywhere: something or nothing comes out, in time. */
static void test_damaged(void)
{
    size_t size;
    unsigned char *bytes = read_file(in_folder("whole"), &size);
    unsigned int seed = 1;

    for (size_t i = 1; i < 200; i++)
        ask_damaged(bytes, size * i / 200);
    for (int round = 0; round < 600; round++) {
        for (int i = 0; i < 4; i++)
            bytes[(size_t)rand_r(&seed) % size] = (unsigned char)rand_r(&seed);
        ask_damaged(bytes, size);
        if (round % 20 == 19)
            bytes = read_file(in_folder("whole"), &size);
    }
}

int main(void)
{
    static const struct check_test tests[] = {
        {"inlined functions and lines", test_inlines},
        {"many addresses at once", test_many_addresses},
        {"C++", test_cpp},
        {"symbol tables alone", test_symbols},
        {".gnu_debuglink", test_debuglink},
        {"a debug file by its build-id", test_build_id},
        {"a file that changed or is gone", test_changed},
        {".gnu_debugdata", test_minidebuginfo},
        {"debuginfod is asked where allowed", test_debuginfod},
        {"more modules than are kept open", test_many_modules},
        {"mangled names", test_demangling},
        {"a name that never ends", test_endless_name},
        {"spans", test_spans},
        {"a helper that fails", test_helper_fails},
        {"damaged files", test_damaged},
    };
    struct place places[2];
    int failed;

    if (!mkdtemp(folder) || places_of("inlined", places, 2) != 2) {
        printf("1..1\nnot ok 1 - the target tests/targets/inlined runs\n");
        return 1;
    }
    inlined = places[0];
    plain = places[1];
    setenv("D", folder, 1);
    setenv("T", TARGETS, 1);
    sh("cp \"$T/inlined\" $D/whole");
    failed = check_run(tests, sizeof(tests) / sizeof(tests[0]));
    sh("rm -rf $D");
    return failed;
}
