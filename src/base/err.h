/* err - how a failure travels: up, as one sentence, until cli/main.c prints it.
 *
 * A function that can fail returns 0 or -1 and takes `struct err *err` last. The sentence is
 * written once, where the failure is understood, and is complete enough to be shown as it is:
 * it names the thing, says what is wrong, and where it can, what to do.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

struct err {
    int code; /* the exit code that fits, or 0: the caller's default */
    char text[1024];
};

/* Set the sentence; always returns -1, so that `return err_set(...)` reads well. */
int err_set(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same with an exit code of its own, for a failure that has a documented one. */
int err_code(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
