/* Numbers for keys: given in turn, one for each key, also where threads ask for the same at once.
 */
#include "inject/numbers.h"

#include "base/count.h"
#include "check.h"

#include <pthread.h>

#define KEYS 200000u
#define THREADS 4

static struct numbers table;
static uint32_t given[THREADS][KEYS];

static uint64_t key_of(uint32_t i)
{
    return (i + 1) * 0x9e3779b97f4a7c15u;
}

static void test_numbers_are_given_in_turn(void)
{
    struct numbers own = {0};
    struct lookup_entry *entry;
    uint32_t number;

    for (uint32_t i = 0; i < 10000; i++) {
        CHECK_EQ(numbers_claim(&own, key_of(i), &number, &entry), LOOKUP_ADDED);
        CHECK_EQ(number, i + 1);
    }
    for (uint32_t i = 0; i < 10000; i++) {
        CHECK_EQ(numbers_claim(&own, key_of(i), &number, &entry), LOOKUP_FOUND);
        CHECK_EQ(number, i + 1);
        CHECK_EQ(entry->key, key_of(i));
    }
    numbers_forget(&own);
    CHECK_EQ(numbers_claim(&own, key_of(5), &number, &entry), LOOKUP_ADDED);
    CHECK_EQ(number, 1);
}

static void test_one_that_is_unseen_has_its_own(void)
{
    struct numbers own = {0};
    struct lookup_entry *entry;
    uint32_t number;

    CHECK_EQ(numbers_claim(&own, key_of(0), &number, &entry), LOOKUP_ADDED);
    CHECK_EQ(numbers_unseen(&own), 2);
    CHECK_EQ(numbers_claim(&own, key_of(1), &number, &entry), LOOKUP_ADDED);
    CHECK_EQ(number, 3);
    own.count = RING_STACKS_MOST / 2;
    CHECK_EQ(numbers_unseen(&own), 0);
}

static void *ask_for_all(void *mine)
{
    struct lookup_entry *entry;

    for (uint32_t i = 0; i < KEYS; i++)
        numbers_claim(&table, key_of(i), &((uint32_t *)mine)[i], &entry);
    return NULL;
}

static void test_threads_that_ask_at_once_get_the_same(void)
{
    static bool used[KEYS * THREADS + 1];
    pthread_t threads[THREADS];
    unsigned int differ = 0, twice = 0;

    for (unsigned int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, ask_for_all, given[i]);
    for (unsigned int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (uint32_t k = 0; k < KEYS; k++) {
        for (unsigned int i = 1; i < THREADS; i++)
            differ += given[i][k] != given[0][k];
        twice += used[given[0][k]];
        used[given[0][k]] = true;
    }
    CHECK_EQ(differ, 0);
    CHECK_EQ(twice, 0);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"numbers are given in turn", test_numbers_are_given_in_turn},
        {"one that is unseen has its own", test_one_that_is_unseen_has_its_own},
        {"threads that ask at once get the same", test_threads_that_ask_at_once_get_the_same},
    };

    return check_run(tests, COUNT(tests));
}
