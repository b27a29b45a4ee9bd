/* program and preload: kinds of files, also of damaged ones, and the environments for them. */
#include "arch/arch.h"
#include "check.h"
#include "preload/preload.h"
#include "preload/program.h"

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

static void test_loaders(void)
{
    char path[256];

    if (!CHECK(load("/bin/sh")))
        return;
    CHECK(!program_loader(0, read_image, path, 4));
    CHECK(program_loader(0, read_image, path, sizeof(path)));
    if (!CHECK(load(path)))
        return;
    CHECK(!program_loader(0, read_image, path, sizeof(path)));
    CHECK_EQ(program_kind(0, read_image), PROGRAM_STATIC);
    for (size_t i = 0; i + 10 < image_bytes; i++)
        if (strcmp((char *)image + i, ARCH_LOADER_VERSION) == 0)
            image[i] = 'g'; /* another libc's */
    CHECK_EQ(program_kind(0, read_image), PROGRAM_OLD_LOADER);
}

/* That which belongs to the loader of a program. */
static bool load_libc(void)
{
    char loader[256], path[256];

    if (!load("/bin/sh") || !program_loader(0, read_image, loader, sizeof(loader)))
        return false;
    for (unsigned int i = 0; program_libc(loader, i, path, sizeof(path)); i++)
        if (load(path))
            return true;
    return false;
}

static void test_libcs(void)
{
    char path[64];

    CHECK(program_libc("/opt/x/ld.so", 0, path, sizeof(path)));
    CHECK_STR(path, "/opt/x/libc.so.6");
    CHECK(!program_libc("/opt/x/ld.so", 1, path, sizeof(path)));
    CHECK(!program_libc("/opt/x/ld.so", 0, path, 16));
    CHECK(load("/bin/sh") && !program_libc_suits(0, read_image)); /* a shell is none */
    if (!CHECK(load_libc()))
        return;
    CHECK(program_libc_suits(0, read_image));
    for (size_t i = 0; i + 11 < image_bytes; i++)
        if (memcmp(image + i, "GLIBC_2.17", 11) == 0)
            image[i + 9] = '6';
    CHECK(!program_libc_suits(0, read_image));
    for (size_t cut = 0; cut < image_bytes && cut < 5000; cut += 7) {
        size_t whole = image_bytes;

        image_bytes = cut;
        CHECK(!program_libc_suits(0, read_image));
        image_bytes = whole;
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

/* That a start was counted is said anew each time; the ring of another recording is none of ours.
 */
static void test_marked(void)
{
    const struct preload p = {.library = "/t.so", .ring = "/r", .marked = true};

    CHECK_STR(made(&p, ENV("A=1")), "A=1|LD_PRELOAD=/t.so|TIDEMARK_RING=/r+|");
    CHECK_STR(made(&p, ENV("LD_PRELOAD=/t.so", "TIDEMARK_RING=/r")),
              "LD_PRELOAD=/t.so|TIDEMARK_RING=/r+|");
    CHECK(!made(&p, ENV("LD_PRELOAD=/t.so", "TIDEMARK_RING=/other")));
}

static void test_forget(void)
{
    char only[] = "LD_PRELOAD=/t.so", several[] = "LD_PRELOAD=/a.so:/t.so /b.so:/t.so",
         other[] = "A=/t.so";
    char *all[] = {only, several, other, NULL};

    preload_forget("/t.so", all);
    CHECK_STR(only, "LD_PRELOAD=");
    CHECK_STR(several, "LD_PRELOAD=/a.so:/b.so:");
    CHECK_STR(other, "A=/t.so");
    preload_forget("/t.so", NULL);
}

static void test_instead(void)
{
    const struct preload p = {.library = "/t.so", .ring = "/r", .instead = "/proc/1/fd/4"};

    CHECK_STR(made(&p, ENV("LD_PRELOAD=/t.so:/x.so", "TIDEMARK_RING=/r")),
              "TIDEMARK_RING=/r|LD_PRELOAD=/proc/1/fd/4:/x.so|");
    CHECK_STR(made(&p, ENV("A=1")), "A=1|LD_PRELOAD=/proc/1/fd/4|TIDEMARK_RING=/r|");
}

int main(void)
{
    static const struct check_test tests[] = {
        {"kinds of programs", test_kinds},
        {"damaged programs", test_damage},
        {"loaders", test_loaders},
        {"libcs", test_libcs},
        {"scripts", test_scripts},
        {"libraries of sanitizers", test_sanitizers},
        {"an environment with our library", test_in},
        {"an environment without it", test_out},
        {"an environment that says that a start was counted", test_marked},
        {"an environment with it by another name", test_instead},
        {"an environment that forgets it", test_forget},
    };
    int status = check_run(tests, sizeof(tests) / sizeof(tests[0]));

    free(image);
    return status;
}
