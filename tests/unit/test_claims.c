/* claims: whom the collector takes for whom. The slots and first words of recorded programs are made
 * up here, in the memory that they would share with it.
 */
#include "check.h"
#include "trace/ring.h"
#include "watch/collect.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAPPED_BYTES (RING_RINGS_OFFSET + 16ull * RING_WORDS * 8) /* the first slots are enough */

static struct collect *collector;
static struct ring_control *control;
static char told[256]; /* the files of those that were numbered, in that order */

static uint64_t number(void *context, int pid, const char *file, const char *name)
{
    static uint64_t last;

    (void)context;
    (void)pid;
    CHECK(strcmp(name, "") != 0);
    snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s;", file);
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

static void introduce(uint32_t slot, uint32_t process, const char *file)
{
    uint64_t words[8] = {RING_PROCESS, (uint64_t)getpid() << 32 | process, 0, strlen(file)};

    memcpy(&words[4], file, strlen(file));
    say(slot, words, 8);
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

/* What a ring's owner could not read of Python is its own loss, not that of the next owner. */
static void test_torn_looks(void)
{
    struct ring_slot *s;
    int pid = fork();

    if (!pid)
        _exit(0);
    begin();
    s = (struct ring_slot *)((char *)control + RING_SLOTS_OFFSET) + 6;
    atomic_store(&control->next_process, 2);
    claim(6, 1, pid);
    introduce(6, 1, "/bin/first");
    atomic_store(&s->torn, 3);
    collect_look(collector);
    waitpid(pid, NULL, 0);
    while (atomic_load(&s->state) == RING_SLOT_CLAIMED) {
        collect_pass(collector);
        usleep(1000);
    }
    CHECK_EQ(atomic_load(&s->torn), 0);
    CHECK_EQ(end().torn, 3);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"a lower slot does not introduce", test_a_lower_slot},
        {"who comes while we look", test_who_comes_while_we_look},
        {"who ends without a word", test_who_ends_without_a_word},
        {"looks that met a frame half made", test_torn_looks},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
