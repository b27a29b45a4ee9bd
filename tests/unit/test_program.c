/* program and preload: kinds of files, also of damaged ones, and the environments for them. */
#include "base/program.h"
#include "check.h"
#include "trace/preload.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned char *image;
static size_t image_bytes;

static long read_image(int fd, void *to, size_t bytes, uint64_t offset)
{
    (void)fd;
    if (offset >= image_bytes)
        return 0;
    if (bytes > image_bytes - offset)
        bytes = image_bytes - offset;
    memcpy(to, image + offset, bytes);
    return (long)bytes;
}

static bool load(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    long got;

    if (fd < 0)
        return false;
    free(image);
    image = calloc(1, 4u << 20);
    got = read(fd, image, 4u << 20);
    close(fd);
    image_bytes = got > 0 ? (size_t)got : 0;
    return image_bytes != 0;
}

static void set(const char *text)
{
    free(image);
    image = calloc(1, strlen(text) + 1);
    image_bytes = strlen(text);
    memcpy(image, text, image_bytes);
}

static void test_kinds(void)
{
    if (CHECK(load("/bin/sh")))
        CHECK_EQ(program_kind(0, read_image), PROGRAM_PLAIN);
    image[4] = 1; /* ELFCLASS32 */
    CHECK_EQ(program_kind(0, read_image), PROGRAM_OTHER_MACHINE);
    set("#!/bin/sh\n");
    CHECK_EQ(program_kind(0, read_image), PROGRAM_UNKNOWN);
    set("");
    CHECK_EQ(program_kind(0, read_image), PROGRAM_UNKNOWN);
    CHECK(program_refuses(PROGRAM_SANITIZED) && program_refuses(PROGRAM_OTHER_LOADER));
    CHECK(!program_refuses(PROGRAM_STATIC) && !program_refuses(PROGRAM_OWN_MALLOC));
}

/* Whatever the file says, it is read within its bounds and to an end. */
static void test_damage(void)
{
    size_t whole;
    uint64_t seed = 1;

    if (!CHECK(load("/bin/sh")))
        return;
    whole = image_bytes;
    for (size_t cut = 0; cut < 5000 && cut < whole; cut += 7) {
        image_bytes = cut;
        program_kind(0, read_image);
    }
    image_bytes = whole;
    for (int i = 0; i < 20000; i++) {
        size_t at;
        unsigned char was;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        at = (size_t)(seed >> 33) % (i % 2 ? 1024 : whole < 65536 ? whole : 65536);
        was = image[at];
        image[at] = (unsigned char)(seed >> 24);
        CHECK(program_kind(0, read_image) <= PROGRAM_OTHER_MACHINE);
        if (i % 5)
            image[at] = was;
    }
}

static void test_scripts(void)
{
    char name[16];

    set("#!  /bin/sh -e\n");
    CHECK(program_script(0, read_image, name, sizeof(name)));
    CHECK_STR(name, "/bin/sh");
    set("#!/a/name/that/has/no/room");
    CHECK(!program_script(0, read_image, name, sizeof(name)));
    set("#!/bin/x");
    CHECK(program_script(0, read_image, name, sizeof(name)));
    CHECK_STR(name, "/bin/x");
    set("#!\n/bin/x");
    CHECK(!program_script(0, read_image, name, sizeof(name)));
    set("echo");
    CHECK(!program_script(0, read_image, name, sizeof(name)));
}

static void test_sanitizers(void)
{
    CHECK(program_lists_sanitizer("/usr/lib/libasan.so.8"));
    CHECK(program_lists_sanitizer("/a.so:libclang_rt.tsan-x86_64.so"));
    CHECK(program_lists_sanitizer("/a.so liblsan.so.0 /b.so"));
    CHECK(!program_lists_sanitizer("/libasan.so/libx.so:/usr/lib/libubsan.so.1"));
    CHECK(!program_lists_sanitizer("") && !program_lists_sanitizer(NULL));
}

/* The new environment in one line; NULL: the old one is right. */
static const char *made(const struct preload *p, char *const *environment)
{
    static char line[512];
    size_t bytes = preload_bytes(p, environment), end = 0;
    void *room = bytes ? malloc(bytes) : NULL;

    if (!room)
        return NULL;
    line[0] = '\0';
    for (char **e = preload_make(p, environment, room); *e; e++)
        end += (size_t)snprintf(line + end, sizeof(line) - end, "%s|", *e);
    free(room);
    return line;
}

#define ENV(...) ((char *[]){__VA_ARGS__, NULL})

static void test_in(void)
{
    const struct preload p = {.library = "/t.so", .ring = "/r"};

    CHECK_STR(made(&p, ENV("A=1")), "A=1|LD_PRELOAD=/t.so|TIDEMARK_RING=/r|");
    CHECK_STR(made(&p, NULL), "LD_PRELOAD=/t.so|TIDEMARK_RING=/r|");
    CHECK_STR(made(&p, ENV("LD_PRELOAD=/x.so", "A=")),
              "A=|LD_PRELOAD=/t.so:/x.so|TIDEMARK_RING=/r|");
    CHECK_STR(made(&p, ENV("LD_PRELOAD=", "TIDEMARK_RING=")), "LD_PRELOAD=/t.so|TIDEMARK_RING=/r|");
    CHECK(!made(&p, ENV("LD_PRELOAD=/x.so:/t.so", "TIDEMARK_RING=/other")));
    CHECK_STR(made(&p, ENV("TIDEMARK_RING=/other")), "TIDEMARK_RING=/other|LD_PRELOAD=/t.so|");
    CHECK_STR(made(&p, ENV("LD_PRELOAD=/t.so", "LD_PRELOAD=/t.so.1")),
              "LD_PRELOAD=/t.so:/t.so.1|TIDEMARK_RING=/r|");
    CHECK_STR(made(&p, ENV("LD_PRELOAD=/a /t.so /b")), "LD_PRELOAD=/t.so:/a /b|TIDEMARK_RING=/r|");
}

static void test_out(void)
{
    const struct preload p = {.library = "/t.so", .ring = "/r", .out = true};

    CHECK(!made(&p, ENV("A=1")));
    CHECK(!made(&p, NULL));
    CHECK_STR(made(&p, ENV("LD_PRELOAD=/t.so", "A=1", "TIDEMARK_RING=/r")), "A=1|");
    CHECK_STR(made(&p, ENV("LD_PRELOAD=/t.so:/x.so", "TIDEMARK_RING=/r")), "LD_PRELOAD=/x.so|");
}

int main(void)
{
    static const struct check_test tests[] = {
        {"kinds of programs", test_kinds},
        {"damaged programs", test_damage},
        {"scripts", test_scripts},
        {"libraries of sanitizers", test_sanitizers},
        {"an environment with our library", test_in},
        {"an environment without it", test_out},
    };
    int status = check_run(tests, sizeof(tests) / sizeof(tests[0]));

    free(image);
    return status;
}
