/* Which incarnation of a process a recording belongs to, of real processes that fork and exec: what
 * it says of itself is heard of later, when it may have gone on, or be over.
 */
#include "check.h"

#include "base/text.h"
#include "procs/tree.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MASTER "master"

static struct tree tree;
static int numbers; /* so many incarnations were born */
static char own_file[PATH_MAX], renamed_to[32];

static void born(void *context, const struct tree *t, struct watch_process *p, enum trace_born how)
{
    (void)context;
    (void)t;
    (void)how;
    p->process = ++numbers;
}

static void ended(void *context, const struct watch_process *p, enum trace_end how, int status)
{
    (void)context;
    (void)p;
    (void)how;
    (void)status;
}

static void claimed(void *context, const struct watch_process *p, const char *file,
                    const char *renamed)
{
    (void)context;
    (void)p;
    (void)file;
    snprintf(renamed_to, sizeof(renamed_to), "%s", renamed ? renamed : "");
}

static uint64_t claim(int pid, bool forked, const char *file, const char *name)
{
    return tree_claim(&tree, &(struct claimant){pid, forked ? getpid() : 0, forked, file, name});
}

static void begin(void)
{
    static const struct tree_events events = {.born = born, .ended = ended, .claimed = claimed};
    ssize_t bytes = readlink("/proc/self/exe", own_file, sizeof(own_file) - 1);

    CHECK(bytes > 0);
    own_file[bytes > 0 ? bytes : 0] = '\0';
    prctl(PR_SET_NAME, MASTER);
    numbers = 0;
    tree_init(&tree);
    tree.children = true;
    tree.events = &events;
    CHECK(tree_add(&tree, getpid(), -1, TRACE_BORN_LAUNCHED) >= 0);
    CHECK_EQ(claim(getpid(), false, own_file, MASTER), 1);
}

/* A copy of us that becomes cat(1) when it is told to, and ends with its input. */
struct child {
    int pid, go, input;
};

static struct child fork_one(void)
{
    int go[2], input[2];
    struct child c;
    char told;

    CHECK(pipe(go) == 0 && pipe(input) == 0);
    c = (struct child){fork(), go[1], input[1]};
    if (!c.pid) {
        close(go[1]);
        close(input[1]);
        dup2(input[0], 0);
        if (read(go[0], &told, 1) == 1)
            execl("/bin/cat", "cat", NULL);
        _exit(1);
    }
    close(go[0]);
    close(input[0]);
    return c;
}

static bool is_called(int pid, const char *name)
{
    char path[64], text[32] = "";
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    f = fopen(path, "r");
    if (f && !fgets(text, sizeof(text), f))
        text[0] = '\0';
    if (f)
        fclose(f);
    text[strcspn(text, "\n")] = '\0';
    return strcmp(text, name) == 0;
}

static void let_exec(struct child *c)
{
    CHECK_EQ(write(c->go, "", 1), 1);
    close(c->go);
    while (!is_called(c->pid, "cat"))
        usleep(1000);
}

/* It is over, and nobody has waited for it. */
static void let_end(struct child *c)
{
    siginfo_t info;

    close(c->input);
    CHECK_EQ(waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOWAIT), 0);
}

static void end(struct child *c)
{
    waitpid(c->pid, NULL, 0);
    tree_free(&tree);
}

static uint64_t claim_copy(const struct child *c)
{
    return claim(c->pid, true, own_file, MASTER);
}

static uint64_t claim_cat(const struct child *c)
{
    return claim(c->pid, false, "/bin/cat", "cat");
}

/* Seen as a copy, and as what it became. */
static struct child one_seen_twice(void)
{
    struct child c;

    begin();
    c = fork_one();
    CHECK(tree_add(&tree, c.pid, -1, TRACE_BORN_FORKED) >= 0);
    let_exec(&c);
    tree_read(&tree, 1, 1);
    CHECK_EQ(numbers, 3);
    return c;
}

/* Seen as a copy and as what it became, and over before anything was heard of it. */
static void test_a_copy_whose_exec_was_seen(void)
{
    struct child c = one_seen_twice();

    let_end(&c);
    CHECK_EQ(claim_copy(&c), 2);
    CHECK_EQ(claim_cat(&c), 3);
    CHECK_EQ(numbers, 3);
    end(&c);
}

/* The same, where the copy has recorded nothing. */
static void test_a_copy_that_says_nothing(void)
{
    struct child c = one_seen_twice();

    let_end(&c);
    CHECK_EQ(claim_cat(&c), 3);
    CHECK_EQ(numbers, 3);
    end(&c);
}

/* A shell's copy that becomes a script runs the same file by the same name. */
static void test_a_copy_that_runs_the_same_file(void)
{
    struct child c = one_seen_twice();

    CHECK_EQ(claim(c.pid, true, "/bin/cat", "cat"), 2);
    CHECK_EQ(claim(c.pid, false, "/bin/cat", "cat"), 3);
    CHECK_EQ(numbers, 3);
    let_end(&c);
    end(&c);
}

/* Seen as what it became alone: what is heard of first was it before, by another name. */
static void test_a_copy_that_was_not_seen(void)
{
    struct child c;

    begin();
    c = fork_one();
    let_exec(&c);
    CHECK(tree_add(&tree, c.pid, -1, TRACE_BORN_FORKED) >= 0);
    let_end(&c);
    CHECK_EQ(claim_copy(&c), 2);
    CHECK_STR(renamed_to, MASTER);
    CHECK_EQ(claim_cat(&c), 3);
    CHECK_STR(renamed_to, "");
    end(&c);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"a copy whose exec was seen, and is over", test_a_copy_whose_exec_was_seen},
        {"a copy that says nothing", test_a_copy_that_says_nothing},
        {"a copy that runs the same file", test_a_copy_that_runs_the_same_file},
        {"a copy that was not seen", test_a_copy_that_was_not_seen},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
