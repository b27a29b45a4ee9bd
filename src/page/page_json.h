/* page_json - keys with values, as META has them. */
#ifndef PAGE_PAGE_JSON_H
#define PAGE_PAGE_JSON_H

#include "base/emit.h"

#define PAGE_PROCESSES_MOST 50000u /* others are left out */

static inline uint64_t us(uint64_t ns)
{
    return ns / 1000;
}

static inline void put_number(struct emit *j, const char *key, uint64_t number)
{
    emit_key(j, key);
    emit_number(j, number);
}

static inline void put_text(struct emit *j, const char *key, const char *text)
{
    emit_key(j, key);
    emit_text(j, text);
}

static inline void put_bool(struct emit *j, const char *key, bool value)
{
    emit_key(j, key);
    emit_bool(j, value);
}

static inline void put_place(struct emit *j, const char *key, bool known, uint64_t place)
{
    emit_key(j, key);
    emit_signed(j, known ? (int64_t)place : -1);
}

static inline void put_known(struct emit *j, const char *key, bool known, uint64_t number)
{
    emit_key(j, key);
    if (known)
        emit_number(j, number);
    else
        emit_null(j);
}

#endif
