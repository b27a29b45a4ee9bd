/* Under which step and labels a thread allocates: the collector's numbers for it, and the infos
 * that go with them.
 */
#include "check.h"

#include "collect/contexts.h"
#include "collect/infos.h"

static struct contexts_numbers numbers;

static uint32_t find(struct contexts *c, struct contexts_labels *l)
{
    return contexts_of(c, l, &numbers, NULL);
}

static void nothing_said_is_no_context(void)
{
    struct contexts c = {.process = 1};
    struct contexts_labels l = {0};

    CHECK_EQ(find(&c, &l), 0);
    contexts_label(&l, &c, 5, 6);
    contexts_label(&l, &c, 5, 0);
    CHECK_EQ(find(&c, &l), 0);
    contexts_free(&c);
}

static void the_same_step_and_labels_are_one_context(void)
{
    struct contexts c = {.process = 1};
    struct contexts_labels one = {0}, other = {0};
    uint32_t first;

    contexts_label(&one, &c, 1, 10);
    contexts_label(&one, &c, 2, 20);
    contexts_label(&other, &c, 1, 10);
    CHECK(find(&c, &one) != find(&c, &other));
    contexts_label(&other, &c, 2, 20);
    first = find(&c, &one);
    CHECK_EQ(find(&c, &other), first);
    contexts_label(&one, &c, 2, 21);
    CHECK(find(&c, &one) != first);
    contexts_label(&one, &c, 2, 20);
    CHECK_EQ(find(&c, &one), first);
    contexts_unlabel(&one, &c);
    CHECK_EQ(find(&c, &one), 0);
    contexts_free(&c);
}

static void a_step_changes_the_context_of_all_threads(void)
{
    struct contexts c = {.process = 1};
    struct contexts_labels one = {0}, other = {0};
    uint32_t first, second;

    contexts_step(&c, 1);
    first = find(&c, &one);
    CHECK(first != 0);
    CHECK_EQ(find(&c, &other), first);
    contexts_step(&c, 2);
    second = find(&c, &other);
    CHECK(second > first);
    CHECK_EQ(find(&c, &one), second);
    contexts_step(&c, 1); /* told by another thread at the same time, and read later */
    CHECK_EQ(c.step, 2);
    contexts_free(&c);
}

static void a_ninth_label_is_counted_and_not_kept(void)
{
    struct contexts c = {.process = 1};
    struct contexts_labels l = {0};

    for (uint64_t key = 1; key <= 9; key++)
        contexts_label(&l, &c, key, 100 + key);
    CHECK_EQ(l.count, CONTEXTS_DEPTH);
    CHECK_EQ(c.refused, 1);
    contexts_label(&l, &c, 1, 0);
    contexts_label(&l, &c, 9, 109);
    CHECK_EQ(l.of[CONTEXTS_DEPTH - 1].key, 9);
    contexts_free(&c);
}

static void beyond_what_is_kept_there_is_one_unknown_context(void)
{
    struct contexts c = {.process = 1};
    struct contexts_labels l = {0};
    uint32_t known, unknown;

    contexts_step(&c, 1);
    known = find(&c, &l);
    c.full = true;
    CHECK_EQ(find(&c, &l), known);
    contexts_step(&c, 2);
    unknown = find(&c, &l);
    CHECK(unknown != known);
    contexts_step(&c, 3);
    CHECK_EQ(find(&c, &l), unknown);
    CHECK_EQ(c.refused, 2);
    contexts_free(&c);
}

static void a_child_has_the_step_of_its_parent_until_its_own(void)
{
    struct contexts parent = {.process = 1}, child = {.process = 2, .parent = &parent};
    struct contexts grandchild = {.process = 3, .parent = &child};

    contexts_step(&parent, 9); /* more than when it forked */
    contexts_heir(&child, 7, true);
    CHECK_EQ(child.owner, 1);
    CHECK_EQ(child.step, 7);
    contexts_heir(&grandchild, 7, false);
    CHECK_EQ(grandchild.owner, 1);
    contexts_step(&child, 1);
    CHECK_EQ(child.owner, 2);
    CHECK_EQ(child.step, 1);
    CHECK_EQ(grandchild.owner, 1);
}

static void infos_of_ended_steps_do_not_fill_the_table(void)
{
    struct infos f = {0};
    uint32_t last = 0;

    for (uint32_t step = 1; step <= 10000; step++) {
        f.stale = step;
        for (uint32_t stack = 1; stack <= 10; stack++) {
            struct infos_key key = {64, stack, step};

            CHECK_EQ(infos_find(&f, &key), 0);
            last = infos_add(&f, &key, stack, 0);
            CHECK_EQ(infos_find(&f, &key), last);
        }
    }
    CHECK_EQ(last, 100000);
    CHECK(f.mask < 1024);
    infos_free(&f);
}

static void infos_without_contexts_stay_where_they_are(void)
{
    struct infos f = {0};
    struct infos_key plain = {64, 1, 0}, within = {64, 1, 3};
    uint32_t first = infos_add(&f, &plain, 1, 0), second = infos_add(&f, &within, 1, 0);

    CHECK(first != second);
    f.stale = 4;
    for (uint64_t bytes = 65; bytes < 2000; bytes++) /* the first of a stack is in no table */
        infos_add(&f, &(struct infos_key){bytes, 1, 0}, 1, 0);
    CHECK_EQ(infos_find(&f, &plain), first);
    CHECK_EQ(infos_find(&f, &within), 0);
    infos_free(&f);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"nothing said is no context", nothing_said_is_no_context},
        {"the same step and labels are one context", the_same_step_and_labels_are_one_context},
        {"a step changes the context of all threads", a_step_changes_the_context_of_all_threads},
        {"a ninth label is counted and not kept", a_ninth_label_is_counted_and_not_kept},
        {"beyond what is kept there is one unknown context",
         beyond_what_is_kept_there_is_one_unknown_context},
        {"a child has the step of its parent until its own",
         a_child_has_the_step_of_its_parent_until_its_own},
        {"infos of ended steps do not fill the table", infos_of_ended_steps_do_not_fill_the_table},
        {"infos without contexts stay where they are", infos_without_contexts_stay_where_they_are},
    };

    return check_run(tests, sizeof(tests) / sizeof(tests[0]));
}
