/* threads COUNT - COUNT threads one after the other, each of which ends at once. */
#include "target.h"

#include <pthread.h>

static void *work(void *arg)
{
    return arg;
}

int main(int argc, char **argv)
{
    long count = target_number(argc, argv, 1, 100);
    for (long i = 0; i < count; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, work, NULL) != 0 || pthread_join(t, NULL) != 0)
            target_fail("pthread_create");
    }
    return 0;
}
