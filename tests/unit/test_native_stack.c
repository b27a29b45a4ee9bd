/* Stacks of threads that stand still, read from outside; and what that stands on. */
#include "check.h"

#include "arch/arch.h"
#include "base/count.h"
#include "collect/native_code.h"
#include "collect/ration.h"

#include <alloca.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define FRAMES 64
#ifdef __clang__ /* which makes no clones */
#define OUTLINED __attribute__((noinline))
#else
#define OUTLINED __attribute__((noinline, noclone))
#endif

static volatile int sink;

/* ---- functions that wait, for ever ---- */

static OUTLINED int wait_plainly(int n)
{
    sink += pause();
    return n + sink;
}

static OUTLINED int wait_below_room(int n)
{
    /* cppcheck-suppress allocaCalled ; a frame of unknown size is what this is about */
    volatile char *room = alloca((size_t)n * 32);

    room[0] = (char)n;
    sink += wait_plainly(n + 1);
    return room[0] + sink;
}

static OUTLINED int wait_in_room(int n)
{
    /* cppcheck-suppress allocaCalled ; a frame of unknown size is what this is about */
    volatile char *room = alloca((size_t)n * 32);

    room[0] = (char)n;
    sink += pause();
    return room[0] + sink;
}

static OUTLINED int wait_deep(int n)
{
    volatile char some[200];

    some[n] = (char)n;
    sink += n ? wait_deep(n - 1) : wait_below_room(7);
    return some[n] + sink;
}

static OUTLINED int wait_in_room_of_other(int n)
{
    sink += wait_in_room(n + 1);
    return n + sink;
}

/* ---- what is read of them ---- */

struct child {
    pid_t pid;
    struct native_code *code;
    uint64_t frames[FRAMES];
    uintptr_t starts[FRAMES]; /* of their functions */
    size_t count;
    bool whole;
};

/* A child is in its system call when the kernel has said so. */
static bool where_is(pid_t pid, unsigned long long *sp, unsigned long long *pc)
{
    char path[64], text[256];

    snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
    for (int i = 0; i < 2000; i++) {
        FILE *f = fopen(path, "r");
        bool blocked = f && fgets(text, sizeof(text), f) &&
                       sscanf(text, "%*d %*s %*s %*s %*s %*s %*s %llx %llx", sp, pc) == 2;

        if (f)
            fclose(f);
        if (blocked)
            return true;
        usleep(2000);
    }
    return false;
}

static bool read_child(struct child *c, int (*waits)(int), int n)
{
    unsigned long long sp, pc;

    *c = (struct child){.pid = fork()};
    if (!c->pid) {
        prctl(PR_SET_PDEATHSIG, 9);
        waits(n);
        _exit(0);
    }
    if (!where_is(c->pid, &sp, &pc)) {
        check_skip("the kernel does not say where a process waits");
        return false;
    }
    c->code = native_code_new((uint32_t)c->pid);
    c->code->now_ns = 1;
    c->count = far_walk(&c->code->far, pc, sp, false, c->frames, FRAMES, &c->whole);
    for (size_t i = 0; i < c->count; i++)
        c->starts[i] = c->code->far.place(c->code, c->frames[i] & ~FAR_FRAME_GUESSED).row.start;
    return true;
}

static void end_child(struct child *c)
{
    native_code_free(c->code);
    kill(c->pid, 9);
    waitpid(c->pid, NULL, 0);
}

/* Where a function is among the frames; FRAMES: nowhere. */
static size_t place_in(const struct child *c, int (*function)(int), size_t from)
{
    for (size_t i = from; i < c->count; i++)
        if (c->starts[i] == (uintptr_t)function)
            return i;
    return FRAMES;
}

static void a_stack_is_followed_to_its_end(void)
{
    struct child c;
    size_t at;

    if (read_child(&c, wait_deep, 20)) {
        at = place_in(&c, wait_plainly, 0);
        CHECK(at >= 1 && at < 4); /* libc is before it */
        CHECK_EQ(place_in(&c, wait_below_room, at), at + 1);
        for (size_t i = 0; i <= 20; i++)
            CHECK_EQ(place_in(&c, wait_deep, at + 2 + i), at + 2 + i);
        CHECK_EQ(place_in(&c, wait_deep, at + 2 + 21), FRAMES);
        CHECK(c.whole);
    }
    end_child(&c);
}

/* Nobody has saved its frame pointer: it is found by who has called it. */
static void a_frame_of_unknown_size_is_found(void)
{
    struct child c;
    size_t at;

    if (read_child(&c, wait_in_room_of_other, 5)) {
        at = place_in(&c, wait_in_room, 0);
        CHECK(at >= 1 && at < 4);
        CHECK_EQ(place_in(&c, wait_in_room_of_other, at), at + 1);
        CHECK(c.whole);
    }
    end_child(&c);
}

/* By a pointer nobody can tell which of the words on the stack is its own. */
static void what_is_not_proved_is_cut(void)
{
    struct child c;
    size_t at;

    if (read_child(&c, wait_in_room, 5)) {
        at = place_in(&c, wait_in_room, 0);
        CHECK(at >= 1 && at < 4);
        CHECK(c.whole || c.count == at + 1);
    }
    end_child(&c);
}

/* ---- maps ---- */

static void code_is_found_in_maps(void)
{
    static const char text[] =
        "1000-2000 r--p 00000000 08:01 77                         /a lib.so\n"
        "2000-4000 r-xp 00001000 08:01 77                         /a lib.so\n"
        "5000-6000 r--p 00000000 08:01 78                         /other\n"
        "6000-7000 r-xp 00003000 08:01 77                         /a lib.so\n"
        "8000-9000 rwxp 00000000 00:00 0 \n"
        "a000-b000 r-xp 00000000 00:00 0                          [vdso]\n"
        "b000-c000 r-xp 00000000 08:01 9                 /gone (deleted)\n";
    struct native_maps m = {0};
    const struct native_range *r;

    native_maps_take(&m, strdup(text), strlen(text));
    CHECK_EQ(m.count, 5);
    CHECK(!native_maps_at(&m, 0x1fff));
    r = native_maps_at(&m, 0x2000);
    CHECK(r && r->header == 0x1000 && r->path_bytes == 9 && !memcmp(r->path, "/a lib.so", 9));
    r = native_maps_at(&m, 0x6800);
    CHECK(r && !r->header); /* not of the file whose beginning is before it */
    r = native_maps_at(&m, 0x8fff);
    CHECK(r && !r->header && !r->path);
    r = native_maps_at(&m, 0xa000);
    CHECK(r && r->header == 0xa000);
    r = native_maps_at(&m, 0xb000);
    CHECK(r && r->path_bytes == 5);
    CHECK(!native_maps_at(&m, 0xc000));
    native_maps_free(&m);
}

/* ---- code ---- */

static void calls_are_known(void)
{
#ifdef __x86_64__
    static const struct {
        const char *code; /* ARCH_CALL_BYTES */
        enum arch_call call;
        uintptr_t target;
    } calls[] = {
        {"\x90\x90\x90\xe8\x10\0\0\0", ARCH_CALL_DIRECT, 0x1010},
        {"\x90\x90\x90\xe8\xf0\xff\xff\xff", ARCH_CALL_DIRECT, 0xff0},
        {"\x90\x90\x90\x90\x90\x90\xff\xd0", ARCH_CALL_INDIRECT, 0}, /* *%rax */
        {"\x90\x90\x90\x90\x90\x41\xff\xd4", ARCH_CALL_INDIRECT, 0}, /* *%r12 */
        {"\x90\x90\xff\x15\x10\0\0\0", ARCH_CALL_INDIRECT, 0},       /* *16(%rip) */
        {"\x90\x90\x90\x90\x90\xff\x50\x18", ARCH_CALL_INDIRECT, 0}, /* *24(%rax) */
        {"\x90\xff\x94\x24\x10\0\0\0", ARCH_CALL_INDIRECT, 0},       /* *16(%rsp) */
        {"\x90\x90\x90\x90\x90\xff\x14\xd0", ARCH_CALL_INDIRECT, 0}, /* *(%rax,%rdx,8) */
        {"\x90\x90\x90\x90\x90\x90\xff\xe0", ARCH_CALL_NONE, 0},     /* jmp *%rax */
        {"\x90\x90\x90\x90\xff\xd0\x90\x90", ARCH_CALL_NONE, 0},     /* not at the end */
        {"\x90\x90\x90\x90\x90\x90\x90\xc3", ARCH_CALL_NONE, 0},
    };

    for (int i = 0; i < COUNT(calls); i++) {
        uintptr_t target = 0;

        CHECK_EQ(arch_call((const unsigned char *)calls[i].code, 0x1000, &target), calls[i].call);
        CHECK_EQ(target, calls[i].target);
    }
#else
    check_skip("it is about another processor");
#endif
}

static void frames_are_measured(void)
{
#ifdef __x86_64__
    static const struct {
        const char *code;
        size_t bytes;
        intptr_t below;
    } frames[] = {
        {"\x55\x48\x89\xe5\x48\x83\xec\x20\x90\x90\x90\x90", 12, 32},
        {"\xf3\x0f\x1e\xfa\x55\x48\x89\xe5\x53\x48\x81\xec\0\x02\0\0\x90", 17, 512},
        {"\x55\x89\xf8\x48\x89\xe5\x53\x48\x83\xc4\x80\x90\x90\x90\x90", 15, 128},
        {"\x55\x48\x89\xe5\xbf\x01\0\0\0\x90\x90\x90", 12, 0},
        {"\x55\x48\x89\xe5\x48\x83\xec\x20\x48\x29\xc4\x90\x90", 13, -1}, /* sub %rax, %rsp */
        {"\x53\x48\x83\xec\x20\x90\x90\x90\x90\x90\x90", 11, -1},
    };

    for (int i = 0; i < COUNT(frames); i++)
        CHECK_EQ(arch_frame_bytes((const unsigned char *)frames[i].code, frames[i].bytes),
                 frames[i].below);
#else
    check_skip("it is about another processor");
#endif
}

/* ---- who is looked at when ---- */

#define THINGS 1000
#define ALWAYS 10u /* things that are looked at in each pass, at least, if there are more */

/* Without any time to spare all have their turn. */
static void each_has_its_turn(void)
{
    static unsigned int looks[THINGS];
    struct ration r = {0};

    for (int pass = 0; pass < 400; pass++) {
        unsigned int taken = 0;

        ration_begin(&r, 1); /* the clock stands still: nothing is allowed */
        for (int i = 0; i < THINGS; i++) {
            bool takes = ration_takes(&r);

            looks[i] += takes;
            taken += takes;
        }
        ration_end(&r);
        CHECK(taken >= ALWAYS || r.next == 0);
    }
    for (int i = 0; i < THINGS; i++)
        CHECK(looks[i] >= 2);
}

static void a_few_are_looked_at_each_time(void)
{
    struct ration r = {0};

    for (int pass = 0; pass < 100; pass++) {
        ration_begin(&r, 1);
        for (unsigned int i = 0; i < ALWAYS; i++)
            CHECK(ration_takes(&r));
        ration_end(&r);
    }
}

int main(void)
{
    static const struct check_test tests[] = {
        {"a stack is followed to its end", a_stack_is_followed_to_its_end},
        {"a frame of unknown size is found", a_frame_of_unknown_size_is_found},
        {"what is not proved is cut", what_is_not_proved_is_cut},
        {"code is found in maps", code_is_found_in_maps},
        {"calls are known", calls_are_known},
        {"frames are measured", frames_are_measured},
        {"each has its turn", each_has_its_turn},
        {"a few are looked at each time", a_few_are_looked_at_each_time},
    };

    return check_run(tests, COUNT(tests));
}
