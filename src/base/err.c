/* err - see err.h. A sentence that is too long is cut: it is for people. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

static void put(struct err *err, int code, const char *fmt, va_list ap)
{
    err->code = code;
    vsnprintf(err->text, sizeof(err->text), fmt, ap);
}

int err_set(struct err *err, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put(err, 0, fmt, ap);
    va_end(ap);
    return -1;
}

int err_code(struct err *err, int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    put(err, code, fmt, ap);
    va_end(ap);
    return -1;
}
