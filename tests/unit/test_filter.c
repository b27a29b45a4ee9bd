/* filter: what becomes of a system call, and what is not known is taken for the worst. */
#include "base/filter.h"
#include "check.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MACHINE 77u
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_ARGUMENT(n, high)                                                                     \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 8 * (n) + 4 * (high))
#define IF(how, value, skip_then, skip_else)                                                       \
    BPF_JUMP(BPF_JMP | (how) | BPF_K, (value), (skip_then), (skip_else))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define ALU(how, value) BPF_STMT(BPF_ALU | (how) | BPF_K, (value))
#define FATE(call, ...)                                                                            \
    filter_fate((const struct sock_filter[]){__VA_ARGS__},                                         \
                sizeof((const struct sock_filter[]){__VA_ARGS__}) / sizeof(struct sock_filter),    \
                &(call))

static void test_actions(void)
{
    const struct filter_call c = {MACHINE, 5, {0}, 0};

    CHECK_EQ(FATE(c, RETURN(SECCOMP_RET_ALLOW)), FILTER_LETS);
    CHECK_EQ(FATE(c, RETURN(SECCOMP_RET_LOG)), FILTER_LETS);
    CHECK_EQ(FATE(c, RETURN(SECCOMP_RET_ERRNO | EPERM)), FILTER_FAILS);
    CHECK_EQ(FATE(c, RETURN(SECCOMP_RET_TRACE)), FILTER_FAILS);
    CHECK_EQ(FATE(c, RETURN(SECCOMP_RET_ERRNO)), FILTER_HARMS); /* "it has worked" */
    CHECK_EQ(FATE(c, RETURN(SECCOMP_RET_KILL_PROCESS)), FILTER_HARMS);
    CHECK_EQ(FATE(c, RETURN(SECCOMP_RET_KILL_THREAD)), FILTER_HARMS);
    CHECK_EQ(FATE(c, RETURN(SECCOMP_RET_TRAP)), FILTER_HARMS);
    CHECK_EQ(FATE(c, RETURN(SECCOMP_RET_USER_NOTIF)), FILTER_HARMS);
    CHECK_EQ(FATE(c, RETURN(0x12340000)), FILTER_HARMS); /* of a kernel to come */
}

static void test_numbers_and_machines(void)
{
    const struct filter_call five = {MACHINE, 5, {0}, 0}, six = {MACHINE, 6, {0}, 0};
    const struct filter_call other = {MACHINE + 1, 5, {0}, 0};

#define LISTED                                                                                     \
    LOAD(arch), IF(BPF_JEQ, MACHINE, 1, 0), RETURN(SECCOMP_RET_KILL), LOAD(nr),                    \
        IF(BPF_JEQ, 5, 0, 1), RETURN(SECCOMP_RET_ALLOW), IF(BPF_JGE, 6, 0, 1),                     \
        RETURN(SECCOMP_RET_ERRNO | 1), RETURN(SECCOMP_RET_KILL)
    CHECK_EQ(FATE(five, LISTED), FILTER_LETS);
    CHECK_EQ(FATE(six, LISTED), FILTER_FAILS);
    CHECK_EQ(FATE(other, LISTED), FILTER_HARMS);
}

static void test_arguments(void)
{
    struct filter_call c = {MACHINE, 5, {0, 0, 0x100000004ull}, 1 << 2};

#define LOOKS_AT(high, value)                                                                      \
    LOAD_ARGUMENT(2, high), IF(BPF_JEQ, value, 0, 1), RETURN(SECCOMP_RET_ALLOW),                   \
        RETURN(SECCOMP_RET_KILL)
    CHECK_EQ(FATE(c, LOOKS_AT(0, 4)), FILTER_LETS);
    CHECK_EQ(FATE(c, LOOKS_AT(1, 1)), FILTER_LETS);
    CHECK_EQ(FATE(c, LOOKS_AT(0, 1)), FILTER_HARMS);
    c.known = 0; /* either way, and one of them is bad */
    CHECK_EQ(FATE(c, LOOKS_AT(0, 4)), FILTER_HARMS);
    CHECK_EQ(FATE(c, LOAD_ARGUMENT(2, 0), IF(BPF_JSET, 2, 0, 1), RETURN(SECCOMP_RET_ERRNO | 1),
                  RETURN(SECCOMP_RET_ALLOW)),
             FILTER_FAILS);
    CHECK_EQ(FATE(c, LOAD_ARGUMENT(2, 0), IF(BPF_JGT, 2, 1, 0), RETURN(SECCOMP_RET_ALLOW),
                  RETURN(SECCOMP_RET_LOG)),
             FILTER_LETS);
    CHECK_EQ(FATE(c, LOAD(instruction_pointer), IF(BPF_JGT, 2, 1, 0), RETURN(SECCOMP_RET_ALLOW),
                  RETURN(SECCOMP_RET_TRAP)),
             FILTER_HARMS);
    CHECK_EQ(FATE(c, LOAD_ARGUMENT(0, 0), BPF_STMT(BPF_RET | BPF_A, 0)), FILTER_HARMS);
}

/* As one that refuses memory which is both written to and executed. */
static void test_arithmetic(void)
{
    struct filter_call both = {MACHINE, 5, {0, 0, 6}, 1 << 2},
                       one = {MACHINE, 5, {0, 0, 3}, 1 << 2};

#define MASKED                                                                                     \
    LOAD_ARGUMENT(2, 0), ALU(BPF_AND, 6), IF(BPF_JEQ, 6, 0, 1), RETURN(SECCOMP_RET_ERRNO | 1),     \
        RETURN(SECCOMP_RET_ALLOW)
    CHECK_EQ(FATE(both, MASKED), FILTER_FAILS);
    CHECK_EQ(FATE(one, MASKED), FILTER_LETS);
#define KEPT                                                                                       \
    LOAD_ARGUMENT(2, 0), BPF_STMT(BPF_ST, 3), BPF_STMT(BPF_LD | BPF_IMM, 1),                       \
        BPF_STMT(BPF_LDX | BPF_MEM, 3), BPF_STMT(BPF_ALU | BPF_LSH | BPF_X, 0),                    \
        IF(BPF_JEQ, 64, 0, 1), RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_KILL)
    CHECK_EQ(FATE(both, KEPT), FILTER_LETS);
    CHECK_EQ(FATE(one, KEPT), FILTER_HARMS);
    CHECK_EQ(FATE(one, LOAD(nr), ALU(BPF_SUB, 5), BPF_STMT(BPF_MISC | BPF_TAX, 0),
                  BPF_STMT(BPF_LD | BPF_LEN, 0), BPF_STMT(BPF_ALU | BPF_ADD | BPF_X, 0),
                  IF(BPF_JEQ, 64, 0, 1), RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_KILL)),
             FILTER_LETS);
    CHECK_EQ(FATE(one, LOAD(nr), BPF_STMT(BPF_ALU | BPF_DIV | BPF_X, 0), IF(BPF_JEQ, 0, 0, 1),
                  RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_KILL)),
             FILTER_HARMS); /* by X, which is 0 */
}

/* What no kernel takes: an end that is missing, ways without end. */
static void test_what_cannot_be_followed(void)
{
    const struct filter_call c = {MACHINE, 5, {0}, 0};
    struct sock_filter many[4096];

    CHECK_EQ(FATE(c, LOAD(nr)), FILTER_HARMS);
    CHECK_EQ(FATE(c, IF(BPF_JEQ, 0, 200, 200), RETURN(SECCOMP_RET_ALLOW)), FILTER_HARMS);
    for (size_t i = 0; i < 4095; i += 2) {
        many[i] = (struct sock_filter)LOAD_ARGUMENT(0, 0);
        many[i + 1] = (struct sock_filter)IF(BPF_JEQ, (uint32_t)i, 0, 0);
    }
    many[4095] = (struct sock_filter)RETURN(SECCOMP_RET_ALLOW);
    CHECK_EQ(filter_fate(many, 4096, &c), FILTER_HARMS);
}

/* The kernel's own word on the same program: does a child that calls live, and with what answer? */
static int try(struct sock_filter *program, size_t count, int number, long first)
{
    struct sock_fprog f = {(unsigned short)count, program};
    int status = 0;
    pid_t child = fork();

    if (!child) {
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &f) != 0)
            _exit(3);
        number = syscall(number, first) < 0 && errno == EDOM ? FILTER_FAILS : FILTER_LETS;
        syscall(SYS_exit_group, number); /* under a sanitizer _exit does more than that */
    }
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? FILTER_HARMS : WEXITSTATUS(status);
}

static void test_as_the_kernel_does(void)
{
    struct sock_filter program[] = {
        LOAD(nr),
        IF(BPF_JEQ, SYS_exit_group, 8, 0),
        IF(BPF_JEQ, SYS_getpid, 7, 0),
        IF(BPF_JEQ, SYS_getppid, 7, 0),
        IF(BPF_JEQ, SYS_close, 0, 7),
        LOAD_ARGUMENT(0, 0),
        ALU(BPF_OR, 1),
        ALU(BPF_MUL, 3),
        IF(BPF_JEQ, 2703, 0, 2), /* 900 or 901 */
        IF(BPF_JEQ, 0, 1, 1),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_ERRNO | EDOM),
        RETURN(SECCOMP_RET_KILL_PROCESS),
    };
    const struct {
        int number;
        long first;
    } calls[] = {{SYS_getpid, 0},  {SYS_getppid, 0}, {SYS_close, 900},
                 {SYS_close, 901}, {SYS_close, 902}, {SYS_getuid, 0}};
    const size_t count = sizeof(program) / sizeof(program[0]);

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        struct filter_call c = {MACHINE, calls[i].number, {(uint64_t)calls[i].first}, 1};

        CHECK_EQ(filter_fate(program, count, &c),
                 try(program, count, calls[i].number, calls[i].first));
    }
}

int main(void)
{
    static const struct check_test tests[] = {
        {"every action is a fate", test_actions},
        {"numbers and machines are compared", test_numbers_and_machines},
        {"arguments that are not known may be anything", test_arguments},
        {"what is known is worked out", test_arithmetic},
        {"what cannot be followed harms", test_what_cannot_be_followed},
        {"the kernel agrees", test_as_the_kernel_does},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
