/* Keys that come and go in a table without a lock, many of which stay. */
#include "base/count.h"
#include "check.h"

#include "inject/lookup.h"

#include <pthread.h>
#include <stdlib.h>

#define STAY 6000u /* more than the first segments hold */
#define GO 200u
#define ROUNDS 300u
#define THREADS 4u

static uint64_t key_of(uint64_t n)
{
    return 4096 + n * 64;
}

static uint32_t claim(struct lookup *t, uint64_t key, uint64_t value)
{
    struct lookup_entry *entry;
    uint32_t number;

    if (lookup_claim_new(t, key, &number, &entry) != LOOKUP_ADDED)
        return 0;
    atomic_store(&entry->value, value);
    return number;
}

/* That many of these `count` keys are there, with a value of their own. */
static uint64_t count_there(struct lookup *t, uint64_t from, uint64_t count)
{
    uint64_t there = 0, value;

    for (uint64_t n = from; n < from + count; n++)
        there += lookup_get(t, key_of(n), &value) && value == n;
    return there;
}

static _Atomic uint64_t met;

static void count_entry(struct lookup_entry *entry)
{
    (void)entry;
    atomic_fetch_add(&met, 1);
}

static uint64_t count_all(struct lookup *t)
{
    atomic_store(&met, 0);
    lookup_each(t, count_entry);
    return atomic_load(&met);
}

static void come_and_go(struct lookup *t, uint64_t from, uint64_t *wrong)
{
    uint64_t value;

    for (uint64_t n = from; n < from + GO; n++)
        *wrong += !claim(t, key_of(n), n);
    *wrong += count_there(t, from, GO) != GO;
    for (uint64_t n = from; n < from + GO; n++)
        *wrong += !lookup_remove(t, key_of(n), &value) || value != n ||
                  lookup_remove(t, key_of(n), &value);
}

static void test_what_stays_and_what_comes_and_goes(void)
{
    static struct lookup t;
    static bool used[1 << 20];
    uint64_t wrong = 0, value;

    for (uint64_t n = 0; n < STAY; n++) {
        uint32_t number = claim(&t, key_of(n), n);

        wrong += !number || number >= sizeof(used) || used[number];
        used[number % sizeof(used)] = true;
    }
    CHECK_EQ(wrong, 0);
    for (unsigned int i = 0; i < ROUNDS; i++)
        come_and_go(&t, STAY + i * GO, &wrong);
    CHECK_EQ(wrong, 0);
    CHECK_EQ(count_there(&t, 0, STAY), STAY);
    CHECK_EQ(count_all(&t), STAY);
    for (uint64_t n = 0; n < STAY; n += 2)
        wrong += !lookup_remove(&t, key_of(n), &value);
    CHECK_EQ(wrong, 0);
    CHECK_EQ(count_all(&t), STAY / 2);
}

/* One that may be there already is not added a second time, wherever it is. */
static void test_what_is_there_is_found(void)
{
    static struct lookup t;
    struct lookup_entry *entry;
    uint64_t wrong = 0;
    uint32_t number, again;

    for (uint64_t n = 0; n < STAY; n++) {
        number = claim(&t, key_of(n), n);
        wrong += lookup_claim_entry(&t, key_of(n), &again, &entry) != LOOKUP_FOUND ||
                 again != number || atomic_load(&entry->value) != n;
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(count_all(&t), STAY);
    lookup_forget(&t);
    CHECK_EQ(count_all(&t), 0);
    CHECK_EQ(claim(&t, key_of(1), 1) != 0, 1);
    CHECK_EQ(count_there(&t, 1, 1), 1);
}

static struct lookup shared;
static uint64_t wrong_of[THREADS];

static void *work(void *place)
{
    uint64_t *wrong = place, from = (uint64_t)(wrong - wrong_of + 1) * 1000000;

    for (unsigned int i = 0; i < ROUNDS; i++) {
        *wrong += !claim(&shared, key_of(from + GO + i), from + GO + i);
        come_and_go(&shared, from, wrong);
    }
    *wrong += count_there(&shared, from + GO, ROUNDS) != ROUNDS;
    return NULL;
}

static void test_threads(void)
{
    pthread_t threads[THREADS];

    for (unsigned int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, &wrong_of[i]);
    for (unsigned int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK_EQ(wrong_of[i], 0);
    }
    CHECK_EQ(count_all(&shared), (uint64_t)THREADS * ROUNDS);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"what stays, and what comes and goes", test_what_stays_and_what_comes_and_goes},
        {"what is there is found", test_what_is_there_is_found},
        {"threads that add and remove at once", test_threads},
    };

    return check_run(tests, COUNT(tests));
}
