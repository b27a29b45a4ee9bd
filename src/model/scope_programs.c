/* scope_programs - see scope_programs.h. */
#include "model/scope_programs.h"

#include "base/typed.h"

#include <string.h>

#define PATH_MOST 4096u /* the kernel's own limit of a path */
#define ENDS_MOST 64    /* spaces in the name of a script */
#define BASE 1000003u

/* ---- the hash of a text, which can be made from its end, too ---- */

static uint64_t longer(uint64_t hash, char c)
{
    return hash * BASE + (unsigned char)c + 1u;
}

static uint64_t hash_text(const char *text, size_t n)
{
    uint64_t hash = 0;

    for (size_t i = 0; i < n; i++)
        hash = longer(hash, text[i]);
    return hash;
}

/* Is the end of file[0..n), from its beginning or from behind a slash, in the set? */
static bool has_end(const struct intmap *set, const char *file, size_t n)
{
    uint64_t hash = 0, power = 1, known;

    for (size_t i = n; i > 0 && n - i < PATH_MOST; i--) {
        hash += power * ((unsigned char)file[i - 1] + 1u);
        power *= BASE;
        if ((i == 1 || file[i - 2] == '/') && intmap_get(set, hash, &known))
            return true;
    }
    return false;
}

/* ---- the command line ---- */

static const char *next_word(const char *text)
{
    text += strcspn(text, " ");
    return text + strspn(text, " ");
}

struct program { /* what a command line of an interpreter runs; each may be NULL */
    const char *script, *module;
    const char *text; /* -c */
};

/* One word of options; true: it was the last before the program's own. */
static bool take_option(struct program *p, const char **at)
{
    const char *word = *at + 1;

    for (; *word && *word != ' '; word++) {
        bool attached = word[1] && word[1] != ' ';

        if (*word == 'c') {
            p->text = attached ? word + 1 : next_word(*at);
            return true;
        }
        if (*word == 'm') {
            p->module = attached ? word + 1 : next_word(*at);
            return true;
        }
        if (*word == 'W' || *word == 'X') {
            if (!attached)
                *at = next_word(*at);
            return false;
        }
    }
    return false;
}

static struct program program_of(const char *command)
{
    struct program p = {0};

    for (const char *at = next_word(command); *at; at = next_word(at)) {
        if (*at != '-') {
            p.script = at;
            return p;
        }
        if (strncmp(at, "--check-hash-based-pycs ", 24) == 0)
            at = next_word(at);
        else if (at[1] != '-' && take_option(&p, &at))
            return p;
    }
    return p;
}

/* It may end at each space. A relative path is not known whole. */
static void add_script(struct scope_programs *p, const char *script)
{
    uint64_t hash = 0;
    int ends = 0;

    while (strncmp(script, "./", 2) == 0 || strncmp(script, "../", 3) == 0)
        script += strspn(script, ".") + 1;
    for (size_t i = 0; i < PATH_MOST && ends < ENDS_MOST; i++) {
        if (i && (script[i] == ' ' || !script[i])) {
            intmap_put(&p->scripts, hash, 1);
            ends++;
        }
        if (!script[i])
            break;
        hash = longer(hash, script[i]);
    }
}

static void add_module(struct scope_programs *p, const char *module)
{
    size_t n = strcspn(module, " ");
    uint64_t hash = 0;

    for (size_t i = 0; i < n; i++)
        hash = longer(hash, module[i] == '.' ? '/' : module[i]);
    if (n)
        intmap_put(&p->modules, hash, 1);
}

void scope_programs_command(struct scope_programs *p, const char *command)
{
    struct program one = program_of(command);

    p->text = p->text || (one.text && !typed_is_boot(one.text));
    if (one.script)
        add_script(p, one.script);
    if (one.module)
        add_module(p, one.module);
}

/* ---- files ---- */

void scope_programs_file(struct scope_programs *p, const char *file)
{
    intmap_put(&p->files, hash_text(file, strlen(file)), 1);
}

static bool ends(const char *file, size_t length, const char *with)
{
    size_t n = strlen(with);

    return length >= n && strcmp(file + length - n, with) == 0;
}

/* Is it a/b.py or a/b/__main__.py of the module a.b? */
static bool is_module(const struct scope_programs *p, const char *file, size_t length)
{
    static const char *const endings[] = {"/__main__.py", ".py"};
    const char *ending = ends(file, length, endings[0]) ? endings[0] : endings[1];

    if (!p->modules.used || !ends(file, length, ending))
        return false;
    return has_end(&p->modules, file, length - strlen(ending));
}

bool scope_programs_has(const struct scope_programs *p, const char *file)
{
    size_t length = strlen(file);
    uint64_t known;

    return intmap_get(&p->files, hash_text(file, length), &known) ||
           (p->scripts.used && has_end(&p->scripts, file, length)) || is_module(p, file, length);
}

void scope_programs_free(struct scope_programs *p)
{
    intmap_free(&p->scripts);
    intmap_free(&p->modules);
    intmap_free(&p->files);
}
