/* A function that begins far behind all other code: linked with it, a program that is not
 * position-independent has holes between its segments. */
int tests_far_away(int x);

__attribute__((section("far_away_code"), aligned(1 << 21))) int tests_far_away(int x)
{
    return x + 1;
}
