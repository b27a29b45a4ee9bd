/* Uses include/tidemark.h. */
#include "tidemark.h"

#include <stdio.h>

static char pool[4096];

int main(void)
{
    tidemark_begin("outer");
    tidemark_mark("moment", 7);
    tidemark_label("request", "42");
    tidemark_alloc(pool + 3, 1000);
    tidemark_alloc(pool + 1111, 500);
    tidemark_free(pool + 3);
    tidemark_step("loop", 1);
    tidemark_end();
    puts("done");
    return 0;
}
