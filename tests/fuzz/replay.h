/* replay - without a fuzzing engine: read each file that is named once, and print TAP. */
#ifndef REPLAY_H
#define REPLAY_H

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef FUZZ_ENGINE

#include <stdio.h>

static int replay(const char *path)
{
    FILE *f = fopen(path, "r");
    uint8_t *data = malloc(1u << 20);
    size_t size;

    if (!f || !data) {
        printf("# cannot read %s\n", path);
        if (f)
            fclose(f);
        free(data);
        return -1;
    }
    size = fread(data, 1, 1u << 20, f);
    fclose(f);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;

    printf("1..%d\n", argc > 1 ? argc - 1 : 0);
    for (int i = 1; i < argc; i++) {
        int bad = replay(argv[i]) < 0;

        printf("%sok %d - %s\n", bad ? "not " : "", i, argv[i]);
        failed |= bad;
    }
    return failed;
}

#endif

#endif
