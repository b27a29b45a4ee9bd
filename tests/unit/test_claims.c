/* claims: whom the collector takes for whom. The slots and first words of recorded programs are
 * made up here, in the memory that they would share with it.
 */
#include "check.h"
#include "collect/collect.h"
#include "collect/members.h"
#include "trace/ring.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAPPED_BYTES (RING_RINGS_OFFSET + 16ull * RING_WORDS * 8) /* the first slots are enough */

static struct collect *collector;
static struct ring_control *control;
static char told[256]; /* the files of those that were numbered, in that order */

static uint64_t number(void *context, const struct claimant *who)
{
    static uint64_t last;

    (void)context;
    CHECK(strcmp(who->name, "") != 0);
    snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s;", who->file);
    return ++last;
}

static void begin(void)
{
    struct collect_options options = {.mode = RING_EXACT};
    struct err err = {0};
    int fd;

    collector = collect_create(&options, NULL, &err);
    CHECK(collector != NULL);
    if (!collector)
        exit(1);
    collect_numbered_by(collector, number, NULL);
    fd = open(collect_ring(collector), O_RDWR | O_CLOEXEC);
    control = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(control != MAP_FAILED);
    close(fd);
    told[0] = '\0';
}

static struct absorb_counts end(void)
{
    struct absorb_counts totals;

    collect_finish(collector, &totals);
    munmap(control, MAPPED_BYTES);
    return totals;
}

static uint64_t *ring(uint32_t slot)
{
    return (uint64_t *)((char *)control + RING_RINGS_OFFSET) + (size_t)slot * RING_WORDS;
}

static void claim(uint32_t slot, uint32_t process, int pid)
{
    struct ring_slot *s = (struct ring_slot *)((char *)control + RING_SLOTS_OFFSET) + slot;

    s->process = process;
    s->pid = (uint32_t)pid;
    atomic_fetch_and(&control->free_slots[slot / 64], ~(1ull << slot % 64));
    atomic_store(&s->state, RING_SLOT_CLAIMED);
}

static void say(uint32_t slot, const uint64_t *words, size_t count)
{
    memcpy(ring(slot) + 1, words, count * 8);
    ring(slot)[0] = 1u << 5 | RING_TICK;
}

static void introduce_from(uint32_t slot, uint32_t process, const char *file, uint64_t namespace)
{
    uint64_t words[9] = {RING_PROCESS, (uint64_t)getpid() << 32 | process, 0, strlen(file),
                         namespace};

    memcpy(&words[5], file, strlen(file));
    say(slot, words, 9);
}

static void introduce(uint32_t slot, uint32_t process, const char *file)
{
    struct stat st = {0};

    stat("/proc/self/ns/pid", &st);
    introduce_from(slot, process, file, st.st_ino);
}

/* The second thread of a process may have the lower slot, but only the first says what it runs. */
static void test_a_lower_slot(void)
{
    static const uint64_t thread[4] = {7u << 16 | RING_THREAD};

    begin();
    atomic_store(&control->next_process, 2);
    claim(3, 1, getpid());
    say(3, thread, 4);
    claim(9, 1, getpid());
    introduce(9, 1, "/bin/first");
    collect_look(collector);
    CHECK_STR(told, "/bin/first;");
    end();
}

/* Had the first claimed its slot behind our back, the second would have been taken for it. */
static void test_who_comes_while_we_look(void)
{
    begin();
    atomic_store(&control->next_process, 2);
    claim(8, 2, getpid());
    introduce(8, 2, "/bin/second");
    collect_look(collector);
    CHECK_STR(told, "");
    claim(4, 1, getpid());
    introduce(4, 1, "/bin/first");
    atomic_store(&control->next_process, 3);
    collect_look(collector);
    CHECK_STR(told, "/bin/first;/bin/second;");
    end();
}

/* It was killed between its claim and its first word: nobody was recorded. */
static void test_who_ends_without_a_word(void)
{
    int pid = fork();

    if (!pid)
        _exit(0);
    waitpid(pid, NULL, 0);
    begin();
    atomic_store(&control->next_process, 2);
    claim(5, 1, pid);
    collect_look(collector);
    CHECK_STR(told, "");
    introduce(5, 1, "/bin/late"); /* as if it had said it just before it ended */
    collect_look(collector);
    CHECK_STR(told, "/bin/late;");
    end();
}

static int child_that_lives(void)
{
    int pid = fork();

    if (!pid) {
        pause();
        _exit(0);
    }
    return pid;
}

/* What a ring's owner could not read of Python is its own loss, not that of the next owner. */
static void test_torn_looks(void)
{
    struct ring_slot *s;
    int pid;

    begin();
    pid = child_that_lives();
    s = (struct ring_slot *)((char *)control + RING_SLOTS_OFFSET) + 6;
    atomic_store(&control->next_process, 2);
    claim(6, 1, pid);
    introduce(6, 1, "/bin/first");
    atomic_store(&s->torn, 3);
    collect_look(collector);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    while (atomic_load(&s->state) == RING_SLOT_CLAIMED) {
        collect_pass(collector);
        usleep(1000);
    }
    CHECK_EQ(atomic_load(&s->torn), 0);
    CHECK_EQ(end().torn, 3);
}

/* Who was numbered, by pid. */
static int pids[8], pid_count;

static uint64_t number_by_pid(void *context, const struct claimant *who)
{
    (void)context;
    pids[pid_count++ % 8] = who->pid;
    return (uint64_t)pid_count;
}

/* A pid that is none of ours, one of ours that has no ring, and one whose owner is recorded and
 * lives, are not believed.
 */
static void test_pids_of_others(void)
{
    int unrecorded = child_that_lives(), child;

    begin();
    child = child_that_lives(); /* which has all rings mapped, as we have */
    pid_count = 0;
    collect_numbered_by(collector, number_by_pid, NULL);
    atomic_store(&control->next_process, 6);
    claim(1, 1, 1);
    introduce(1, 1, "/bin/init");
    claim(2, 2, child);
    introduce(2, 2, "/bin/child");
    claim(3, 3, getpid());
    introduce(3, 3, "/bin/self"); /* which has every ring mapped that it claims */
    claim(4, 4, getpid());
    introduce(4, 4, "/bin/liar");
    claim(5, 5, unrecorded);
    introduce(5, 5, "/bin/spokesman");
    collect_look(collector);
    CHECK_EQ(pid_count, 5);
    CHECK_EQ(pids[0], 0);
    CHECK_EQ(pids[1], child);
    CHECK_EQ(pids[2], getpid());
    CHECK_EQ(pids[3], 0);
    CHECK_EQ(pids[4], 0);
    kill(child, SIGKILL);
    kill(unrecorded, SIGKILL);
    waitpid(child, NULL, 0);
    waitpid(unrecorded, NULL, 0);
    end();
}

/* The same number in a namespace that is not ours names nobody we know. */
static void test_another_namespace(void)
{
    begin();
    pid_count = 0;
    collect_numbered_by(collector, number_by_pid, NULL);
    atomic_store(&control->next_process, 2);
    claim(1, 1, getpid() + 100000);
    introduce_from(1, 1, "/bin/inner", 12345);
    collect_look(collector);
    CHECK_EQ(pid_count, 1);
    CHECK_EQ(pids[0], 0);
    end();
}

static int come(int pid)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, RING_NAME "%d" RING_WHO, pid);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    CHECK_EQ(connect(fd, (struct sockaddr *)&a,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)),
             0);
    return fd;
}

static void present(uint32_t number, uint64_t secret)
{
    struct ring_presented us = {.secret = secret, .process = number};

    if (send(come(getppid()), &us, sizeof(us), 0) != sizeof(us))
        _exit(1);
}

/* A process that presents itself by this number, and lives on or does not. */
static int child_that_presents(uint32_t number, uint64_t secret, bool lives)
{
    char done;
    int ends[2], pid;

    CHECK(pipe(ends) == 0);
    pid = fork();
    if (!pid) {
        present(number, secret);
        (void)!write(ends[1], "", 1);
        if (lives)
            pause();
        _exit(0);
    }
    CHECK_EQ(read(ends[0], &done, 1), 1);
    close(ends[0]);
    close(ends[1]);
    if (!lives)
        waitpid(pid, NULL, 0);
    return pid;
}

/* In a namespace of its own a process is who the kernel says, also when it has ended since; but not
 * who it says itself, nor one that does not know our memory, nor another as long as it lives.
 */
static void test_who_presents_itself(void)
{
    int gone, stranger, liar, lives;

    begin();
    pid_count = 0;
    collect_numbered_by(collector, number_by_pid, NULL);
    atomic_store(&control->next_process, 5);
    gone = child_that_presents(1, control->secret, false);
    stranger = child_that_presents(2, control->secret + 1, false);
    liar = child_that_presents(3, control->secret, true);
    lives = child_that_presents(4, control->secret, true);
    for (uint32_t i = 1; i <= 4; i++) {
        claim(i, i, i == 4 ? lives : 7);
        introduce_from(i, i, "/bin/inner", 12345);
    }
    collect_look(collector);
    CHECK_EQ(pid_count, 4);
    CHECK_EQ(pids[0], gone);
    CHECK(pids[1] != stranger);
    CHECK(pids[2] != liar);
    CHECK_EQ(pids[3], lives);
    kill(liar, SIGKILL);
    kill(lives, SIGKILL);
    waitpid(liar, NULL, 0);
    waitpid(lives, NULL, 0);
    end();
}

/* Who only comes costs nothing, and keeps nobody from being heard. */
static void test_who_comes_and_says_nothing(void)
{
    int silent[3 * PRESENTED_WAITING], gone;

    begin();
    pid_count = 0;
    collect_numbered_by(collector, number_by_pid, NULL);
    atomic_store(&control->next_process, 2);
    for (int i = 0; i < 3 * PRESENTED_WAITING; i++)
        silent[i] = come(getpid());
    presented_take(&collector->presented);
    gone = child_that_presents(1, control->secret, false);
    claim(1, 1, 7);
    introduce_from(1, 1, "/bin/inner", 12345);
    collect_look(collector);
    CHECK_EQ(pids[0], gone);
    for (int i = 0; i < 3 * PRESENTED_WAITING; i++)
        close(silent[i]);
    end();
}

/* What a process tells beyond what is kept of one is not read, and said to be lost. */
static void test_more_than_is_kept(void)
{
    static const uint64_t thread[4] = {7u << 16 | RING_THREAD};

    begin();
    atomic_store(&control->next_process, 2);
    claim(3, 1, getpid());
    introduce(3, 1, "/bin/talks");
    collect_look(collector);
    collect_pass(collector);
    CHECK(collector->members != NULL);
    if (!collector->members)
        return;
    collector->members->process.text_bytes = 1ull << 40;
    memcpy(ring(3) + collector->states[3]->at, thread, sizeof(thread));
    collect_pass(collector);
    CHECK(collector->members->process.beyond);
    CHECK_EQ(end().broken, 1);
}

/* A program that writes the clock or the state of the memory misleads nobody but itself. */
static void test_a_clock_that_is_moved(void)
{
    struct ring_slot *s;
    int pid = fork();

    if (!pid)
        _exit(0);
    waitpid(pid, NULL, 0);
    begin();
    s = (struct ring_slot *)((char *)control + RING_SLOTS_OFFSET) + 2;
    atomic_store(&control->next_process, 2);
    claim(2, 1, pid);
    introduce(2, 1, "/bin/first");
    atomic_store(&control->tick, UINT64_MAX);
    control->origin_ns = 77;
    atomic_store(&control->mode, 12345);
    collect_look(collector);
    while (atomic_load(&s->state) == RING_SLOT_CLAIMED) {
        collect_pass(collector);
        usleep(1000);
    }
    CHECK(atomic_load(&control->tick) != UINT64_MAX);
    CHECK(collect_has_heap(collector));
    end();
}

/* A ring for a process that has ended is nobody's: it is counted, and nothing is written for it. */
static void test_a_ring_of_the_dead(void)
{
    struct ring_slot *s;
    int pid = fork();

    if (!pid)
        _exit(0);
    waitpid(pid, NULL, 0);
    begin();
    s = (struct ring_slot *)((char *)control + RING_SLOTS_OFFSET) + 2;
    atomic_store(&control->next_process, 2);
    claim(2, 1, pid);
    introduce(2, 1, "/bin/first");
    collect_look(collector);
    while (atomic_load(&s->state) == RING_SLOT_CLAIMED) {
        collect_pass(collector);
        usleep(1000);
    }
    claim(3, 1, pid);
    introduce(3, 1, "/bin/ghost");
    collect_look(collector);
    CHECK_STR(told, "/bin/first;");
    collect_pass(collector);
    end();
}

/* What is started and what comes is counted apart. */
static void test_the_account(void)
{
    struct collect_account account;

    begin();
    collect_launched(collector);
    atomic_store(&control->started[RING_START_STATIC], 3);
    atomic_store(&control->started[RING_START_PLAIN], 4);
    atomic_store(&control->came, 5);
    collect_account(collector, &account);
    CHECK_EQ(account.started, 8);
    CHECK_EQ(account.came, 5);
    CHECK_EQ(account.prospects[RING_START_STATIC], 3);
    CHECK(account.whole);
    end();
}

int main(void)
{
    static const struct check_test tests[] = {
        {"a lower slot does not introduce", test_a_lower_slot},
        {"who comes while we look", test_who_comes_while_we_look},
        {"who ends without a word", test_who_ends_without_a_word},
        {"looks that met a frame half made", test_torn_looks},
        {"pids of others are not believed", test_pids_of_others},
        {"a pid of another namespace", test_another_namespace},
        {"who presents itself", test_who_presents_itself},
        {"who comes and says nothing", test_who_comes_and_says_nothing},
        {"a clock that is moved", test_a_clock_that_is_moved},
        {"more than is kept of a process", test_more_than_is_kept},
        {"a ring of the dead", test_a_ring_of_the_dead},
        {"the account of programs", test_the_account},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
