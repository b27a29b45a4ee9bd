/* Numbers to numbers: any key, 0 and the largest among them, and keys that differ in their high
 * bits alone. */
#include "check.h"

#include "base/count.h"
#include "base/intmap.h"

static void test_edges(void)
{
    static const uint64_t keys[] = {1, 0, UINT64_MAX, (uint64_t)1 << 63, (uint64_t)1 << 32, 63, 64};
    struct intmap m = {0};
    uint64_t value = 7;

    for (int i = 0; i < COUNT(keys); i++) {
        CHECK(!intmap_get(&m, keys[i], &value));
        CHECK_EQ(value, 7); /* left alone */
        intmap_put(&m, keys[i], (uint64_t)i);
    }
    for (int i = 0; i < COUNT(keys); i++) {
        CHECK(intmap_get(&m, keys[i], &value));
        CHECK_EQ(value, i);
        value = 7;
    }
    intmap_put(&m, 0, 0);
    intmap_put(&m, UINT64_MAX, 99);
    CHECK(intmap_get(&m, 0, &value) && value == 0);
    CHECK(intmap_get(&m, UINT64_MAX, &value) && value == 99);
    intmap_free(&m);
    CHECK(!intmap_get(&m, 0, &value));
    CHECK(!intmap_get(&m, 1, &value));
}

static void test_many(void)
{
    enum { MANY = 50000 };
    struct intmap m = {0};
    uint64_t value;

    for (uint64_t i = 0; i < MANY; i++)
        intmap_put(&m, i << 40, i);
    for (uint64_t i = 0; i < MANY; i++)
        CHECK(intmap_get(&m, i << 40, &value) && value == i);
    CHECK(!intmap_get(&m, 1, &value));
    CHECK_EQ(m.used, MANY - 1); /* but for 0 */
    intmap_free(&m);
}

int main(void)
{
    static const struct check_test tests[] = {
        {"any key is a key", test_edges},
        {"many keys that differ in high bits alone", test_many},
    };

    return check_run(tests, COUNT(tests));
}
