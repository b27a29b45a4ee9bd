/* turmoil PLUGIN: all that an attach can get in the way of, at the same time: threads that
 * allocate, that load and unload a library, that start threads and that fork, until the input ends.
 * Says how often each was done; exit 1 if one of them went wrong. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_bool over;
static atomic_long allocated, loaded, started, forked, wrong;
static const char *plugin;

static void *allocates(void *unused)
{
    void *kept[64] = {0};

    for (unsigned int i = 0; !over; i++) {
        char **slot = (char **)&kept[i % 64];
        size_t size = 16 + i % 2000;

        free(*slot);
        *slot = malloc(size);
        memset(*slot, (int)(i & 127), size);
        *slot = realloc(*slot, size * 2);
        wrong += (*slot)[size - 1] != (char)(i & 127);
        allocated++;
    }
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    return unused;
}

static void *loads(void *unused)
{
    while (!over) {
        void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
        void *(*alloc)(size_t) = library ? (void *(*)(size_t))dlsym(library, "plugin_alloc") : NULL;

        wrong += !alloc;
        if (alloc)
            free(alloc(500));
        if (library)
            dlclose(library);
        loaded++;
    }
    return unused;
}

static void *is_started(void *value)
{
    free(malloc(300));
    return value;
}

static void *starts(void *unused)
{
    while (!over) {
        void *value = NULL;
        pthread_t t;

        if (pthread_create(&t, NULL, is_started, &over) == 0)
            pthread_join(t, &value);
        wrong += value != &over;
        started++;
    }
    return unused;
}

static void *forks(void *unused)
{
    while (!over) {
        pid_t child = fork();
        int status = -1;

        if (child == 0) {
            void *p = malloc(12345);

            _exit(p ? 7 : 8);
        }
        waitpid(child, &status, 0);
        wrong += !WIFEXITED(status) || WEXITSTATUS(status) != 7;
        forked++;
        usleep(1000);
    }
    return unused;
}

int main(int argc, char **argv)
{
    void *(*const all[])(void *) = {allocates, allocates, allocates, loads, starts, forks};
    pthread_t threads[6];
    char c;

    if (argc < 2)
        return 2;
    plugin = argv[1];
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, all[i], NULL);
    while (read(0, &c, 1) == 1) {
        printf("%ld %ld %ld %ld wrong %ld\n", allocated, loaded, started, forked, wrong);
        fflush(stdout);
    }
    over = true;
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    return wrong != 0;
}
