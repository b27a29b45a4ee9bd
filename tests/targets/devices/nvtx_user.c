/* nvtx_user - a program that has NVTX in itself, as its header does it: the library that the
 * environment names is given the tables of functions, which are called if they were filled. Three
 * steps with 1 MiB each, a range by number, a mark with a payload, a registered name, and more pops
 * than pushes.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

typedef void function(void);

enum { MARK_EX = 1, START_A = 5, END = 7, PUSH_A = 9, PUSH_W = 10, POP = 11, CORE_SIZE = 16 };
enum { DOMAIN_PUSH = 4, DOMAIN_POP = 5, DOMAIN_STRING = 10, DOMAIN_CREATE = 12, CORE2_SIZE = 16 };

static function *core[CORE_SIZE], *core2[CORE2_SIZE];
static function **core_table[CORE_SIZE], **core2_table[CORE2_SIZE];

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};

static int module_table(unsigned int module, function ****table, unsigned int *size)
{
    *table = module == 1 ? core_table : module == 5 ? core2_table : NULL;
    *size = CORE_SIZE;
    return *table != NULL;
}

static const struct {
    size_t size;
    int (*table)(unsigned int, function ****, unsigned int *);
} callbacks = {sizeof(callbacks), module_table};

static const void *export_table(uint32_t id)
{
    return id == 1 ? &callbacks : NULL;
}

static int inject(void)
{
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*begin)(const void *(*)(uint32_t)) = library ? dlsym(library, "InitializeInjectionNvtx2")
                                                      : NULL;

    for (int i = 0; i < CORE_SIZE; i++) {
        core_table[i] = &core[i];
        core2_table[i] = &core2[i];
    }
    return begin && begin(export_table);
}

static void *volatile kept;

int main(void)
{
    struct attributes a = {3, sizeof(a), 0, 0, 0, 1, 0, 42, 1, "done"};
    int (*push)(const char *), (*pop)(void), (*push_w)(const wchar_t *);
    char name[32];
    uint64_t id;
    void *domain;

    if (!inject())
        return 0; /* nobody listens */
    push = (int (*)(const char *))core[PUSH_A];
    push_w = (int (*)(const wchar_t *))core[PUSH_W];
    pop = (int (*)(void))core[POP];
    id = ((uint64_t(*)(const char *))core[START_A])("training");
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "train_step %d", i);
        if (push(name) != 0 || push_w(L"forward") != 1)
            return 1;
        kept = malloc(1 << 20);
        if (pop() != 1 || pop() != 0)
            return 2;
    }
    ((void (*)(uint64_t))core[END])(id);
    ((void (*)(const struct attributes *))core[MARK_EX])(&a);
    domain = ((void *(*)(const char *))core2[DOMAIN_CREATE])("mine");
    snprintf(name, sizeof(name), "registered");
    a.message_type = 3;
    a.message = ((void *(*)(void *, const char *))core2[DOMAIN_STRING])(domain, name);
    name[0] = '!'; /* it need not last */
    ((int (*)(void *, const struct attributes *))core2[DOMAIN_PUSH])(domain, &a);
    ((int (*)(void *))core2[DOMAIN_POP])(domain);
    return pop() < 0 ? 0 : 3;
}
