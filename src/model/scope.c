/* scope - see scope.h. */
#include "analyze/scope.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

/* The modules of Python's standard library that have a file, of 3.9 to 3.14. */
static const char library[] =
    " __future__ __hello__ __phello__ _aix_support _android_support _apple_support _ast_unparse "
    "_bootsubprocess _collections_abc _colorize _compat_pickle _compression _ios_support "
    "_markupbase _opcode_metadata _osx_support _py_abc _py_warnings _pydatetime _pydecimal _pyio "
    "_pylong _pyrepl _sitebuiltins _strptime _sysconfigdata _threading_local _weakrefset abc aifc "
    "annotationlib antigravity argparse ast asynchat asyncio asyncore base64 bdb binhex bisect bz2 "
    "cProfile calendar cgi cgitb chunk cmd code codecs codeop collections colorsys compileall "
    "compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes "
    "curses dataclasses datetime dbm decimal difflib dis distutils doctest email encodings "
    "ensurepip enum filecmp fileinput fnmatch formatter fractions ftplib functools genericpath "
    "getopt getpass gettext glob graphlib gzip hashlib heapq hmac html http idlelib imaplib imghdr "
    "imp importlib inspect io ipaddress json keyword lib2to3 linecache locale logging lzma mailbox "
    "mailcap mimetypes modulefinder msilib multiprocessing netrc nntplib ntpath nturl2path numbers "
    "opcode operator optparse os parser pathlib pdb pickle pickletools pipes pkgutil platform "
    "plistlib poplib posixpath pprint profile pstats pty py_compile pyclbr pydoc pydoc_data queue "
    "quopri random re reprlib rlcompleter runpy sched secrets selectors shelve shlex shutil signal "
    "site sitecustomize smtpd smtplib sndhdr socket socketserver sqlite3 sre_compile sre_constants "
    "sre_parse ssl stat statistics string stringprep struct subprocess sunau symbol symtable "
    "sysconfig tabnanny tarfile telnetlib tempfile test textwrap this threading timeit tkinter "
    "token tokenize tomllib trace traceback tracemalloc tty turtle turtledemo types typing "
    "unittest urllib uu uuid venv warnings wave weakref webbrowser wsgiref xdrlib xml xmlrpc "
    "zipapp zipfile zipimport zoneinfo ";

/* ---- paths ---- */

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with)
{
    size_t n = strlen(text), m = strlen(with);

    return n >= m && strcmp(text + n - m, with) == 0;
}

/* Is text[0..n) that word? */
static bool is_word(const char *text, size_t n, const char *word)
{
    return strlen(word) == n && strncmp(text, word, n) == 0;
}

/* Is the first part of this path a module of the library? Its ending is left aside. */
static bool in_library(const char *path)
{
    size_t n = strcspn(path, "/");
    char word[66];

    if (path[n] == '\0') {
        const char *dot = memchr(path, '.', n);

        n = dot ? (size_t)(dot - path) : n;
    }
    if (starts(path, "_sysconfigdata_"))
        return true;
    if (n == 0 || n > sizeof(word) - 3)
        return false;
    word[0] = ' ';
    memcpy(word + 1, path, n);
    word[n + 1] = ' ';
    word[n + 2] = '\0';
    return strstr(library, word) != NULL;
}

/* "python3", "python3.11", "python3.13t", "pypy3.10", "python311.zip" */
static bool is_python_folder(const char *part, size_t n)
{
    size_t at = n > 6 && strncmp(part, "python", 6) == 0 ? 6
              : n > 4 && strncmp(part, "pypy", 4) == 0   ? 4
                                                         : 0;

    if (!at || !isdigit((unsigned char)part[at]))
        return false;
    while (at < n && (isdigit((unsigned char)part[at]) || part[at] == '.'))
        at++;
    return at == n || is_word(part + at, n - at, "t") || is_word(part + at, n - at, "td") ||
           is_word(part + at, n - at, "zip");
}

static bool is_library_folder(const char *part, size_t n)
{
    return is_word(part, n, "lib") || is_word(part, n, "lib64") || is_word(part, n, "Lib");
}

/* What interpreters install, as far as the folders of a path say it. */
static enum scope_kind of_folders(const char *path)
{
    const char *before = "";
    size_t before_length = 0, n;

    for (const char *part = path; *part; part += n + 1) {
        bool python = is_python_folder(before, before_length);

        n = strcspn(part, "/");
        if (!part[n])
            break;
        if ((is_word(part, n, "site-packages") || is_word(part, n, "dist-packages")) &&
            (python || is_library_folder(before, before_length)))
            return SCOPE_PACKAGES;
        if (is_python_folder(part, n) &&
            (is_library_folder(before, before_length) || part[n - 1] == 'p') &&
            in_library(part + n + 1))
            return SCOPE_LIBRARY;
        before = part;
        before_length = n;
    }
    return SCOPE_OWN;
}

/* ---- the command line ---- */

static const char *next_word(const char *text)
{
    text += strcspn(text, " ");
    return text + strspn(text, " ");
}

struct program { /* what a command line of an interpreter runs; each may be NULL */
    const char *script, *module;
    bool text; /* -c */
};

/* One word of options; true: it was the last before the program's own. */
static bool take_option(struct program *p, const char **at)
{
    const char *word = *at + 1;

    for (; *word && *word != ' '; word++) {
        bool attached = word[1] && word[1] != ' ';

        if (*word == 'c')
            return p->text = true;
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
        if (starts(at, "--check-hash-based-pycs "))
            at = next_word(at);
        else if (at[1] != '-' && take_option(&p, &at))
            return p;
    }
    return p;
}

/* Does the command go on with the path, or with the end of it? A relative one is not known whole. */
static bool names_path(const char *script, const char *file)
{
    while (starts(script, "./") || starts(script, "../"))
        script += strspn(script, ".") + 1;
    for (const char *end = file; end; end = strchr(end, '/') ? strchr(end, '/') + 1 : NULL) {
        size_t n = strlen(end);

        if (n && strncmp(script, end, n) == 0 && (script[n] == '\0' || script[n] == ' '))
            return true;
    }
    return false;
}

/* Is it a/b.py or a/b/__main__.py of the module a.b? */
static bool names_module(const char *module, const char *file)
{
    size_t n = strcspn(module, " "), length = strlen(file), bare;
    const char *end;

    if (ends(file, "/__main__.py"))
        bare = length - strlen("/__main__.py");
    else if (ends(file, ".py"))
        bare = length - strlen(".py");
    else
        return false;
    if (bare < n + 1 || file[bare - n - 1] != '/')
        return false;
    end = file + bare - n;
    for (size_t i = 0; i < n; i++)
        if (end[i] != (module[i] == '.' ? '/' : module[i]))
            return false;
    return true;
}

static bool is_program(const struct scope *s, const char *file)
{
    for (size_t i = 0; i < s->program_count; i++)
        if (strcmp(s->programs[i], file) == 0)
            return true;
    for (size_t i = 0; i < s->command_count; i++) {
        struct program p = program_of(s->commands[i]);

        if ((p.script && names_path(p.script, file)) || (p.module && names_module(p.module, file)))
            return true;
    }
    return false;
}

static bool is_typed(const struct scope *s, const char *file)
{
    if (starts(file, "<stdin") || starts(file, "<ipython-input") || starts(file, "<python-input"))
        return true;
    for (size_t i = 0; starts(file, "<string>") && i < s->command_count; i++)
        if (program_of(s->commands[i]).text)
            return true;
    return false;
}

/* ---- rules ---- */

bool scope_matches(const char *pattern, const char *path)
{
    if (!strpbrk(pattern, "*?["))
        return strstr(path, pattern) != NULL;
    if (fnmatch(pattern, path, 0) == 0)
        return true;
    for (const char *end = strchr(path, '/'); end; end = strchr(end + 1, '/'))
        if (fnmatch(pattern, end + 1, 0) == 0)
            return true;
    return false;
}

static bool any_matches(const char *const *patterns, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        if (scope_matches(patterns[i], path))
            return true;
    return false;
}

/* --only brings in what it names, also from elsewhere. */
static enum scope_kind apply(const struct scope *s, const char *file, enum scope_kind kind)
{
    const struct scope_rules *r = s->rules;

    if (!r)
        return kind;
    if (any_matches(r->exclude, r->exclude_count, file))
        return SCOPE_LEFT_OUT;
    if (r->only_count)
        return any_matches(r->only, r->only_count, file) ? SCOPE_OWN
             : kind == SCOPE_OWN                         ? SCOPE_LEFT_OUT
                                                         : kind;
    return r->all ? SCOPE_OWN : kind;
}

static const char **add_text(struct arena *a, const char **list, size_t *count, const char *text)
{
    list = arena_grow(a, list, *count * sizeof(*list), (*count + 1) * sizeof(*list));
    list[(*count)++] = text;
    return list;
}

void scope_command(struct scope *s, const char *command)
{
    for (size_t i = 0; i < s->command_count; i++)
        if (strcmp(s->commands[i], command) == 0)
            return;
    s->commands = add_text(s->arena, s->commands, &s->command_count, command);
}

void scope_program(struct scope *s, const char *file)
{
    if (!is_program(s, file))
        s->programs = add_text(s->arena, s->programs, &s->program_count, file);
}

void scope_learn(struct scope *s, const char *file)
{
    static const char *const signs[] = {"/encodings/__init__.py", "/_collections_abc.py"};

    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        size_t n = strlen(file) - strlen(signs[i]);

        if (ends(file, signs[i]) && n)
            s->roots = add_text(s->arena, s->roots, &s->root_count,
                                arena_printf(s->arena, "%.*s/", (int)n, file));
    }
}

enum scope_kind scope_of_python(const struct scope *s, const char *file)
{
    enum scope_kind kind;

    if (*file == '<')
        kind = starts(file, "<frozen ") ? SCOPE_LIBRARY
             : is_typed(s, file)        ? SCOPE_OWN
                                        : SCOPE_GENERATED;
    else
        kind = of_folders(file);
    for (size_t i = 0; kind == SCOPE_OWN && i < s->root_count; i++)
        if (starts(file, s->roots[i]) && in_library(file + strlen(s->roots[i])))
            kind = SCOPE_LIBRARY;
    if (kind != SCOPE_OWN && *file != '<' && is_program(s, file))
        kind = SCOPE_OWN;
    return apply(s, file, kind);
}

static bool is_system_module(const char *module)
{
    static const char *const folders[] = {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/"};
    const char *base = strrchr(module, '/');

    base = base ? base + 1 : module;
    if (strcmp(base, "libtidemark.so") == 0)
        return true; /* our own work in the program is nobody's line */
    if (starts(base, "libpython") || is_python_folder(base, strlen(base)) ||
        strstr(module, "/lib-dynload/") || of_folders(module) != SCOPE_OWN)
        return true;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (starts(module, folders[i]) && (starts(base, "lib") || starts(base, "ld-")))
            return true;
    return false;
}

enum scope_kind scope_of_native(const struct scope *s, const char *file, const char *module)
{
    bool own = file && !(module && is_system_module(module)) && !starts(file, "/usr/include/") &&
               !starts(file, "/usr/lib/");

    return file ? apply(s, file, own ? SCOPE_OWN : SCOPE_NATIVE) : SCOPE_NATIVE;
}

const char *scope_text(enum scope_kind kind)
{
    static const char *const texts[SCOPE_KINDS] = {
        "(stacks that are not known)",
        "(the standard library)",
        "(installed packages)",
        "(code without a file)",
        "(native code without a line of the program)",
        "(code that was not asked for)",
    };

    return texts[kind];
}
