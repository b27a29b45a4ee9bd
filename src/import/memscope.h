/* memscope - dumps of MindStudio MemScope, whose rows are the same in CSV and in SQLite: one for
 * each allocation and free (of the driver, HAL, and of the pools that are in its memory), operator
 * and mark.
 *
 * Rows are in no order of time. Memory of the driver that a pool's blocks were in is what the pool
 * has reserved, and not counted again; other memory of the driver counts. An allocation is charged
 * to the operators that were open in its thread, on top of its stack where there is one.
 */
#ifndef IMPORT_MEMSCOPE_H
#define IMPORT_MEMSCOPE_H

#include "import/intake.h"

enum memscope_column {
    MEMSCOPE_ID,
    MEMSCOPE_EVENT,
    MEMSCOPE_TYPE,
    MEMSCOPE_NAME,
    MEMSCOPE_TIME,
    MEMSCOPE_PID,
    MEMSCOPE_TID,
    MEMSCOPE_DEVICE,
    MEMSCOPE_PTR,
    MEMSCOPE_ATTR,
    MEMSCOPE_PYTHON,
    MEMSCOPE_C,
    MEMSCOPE_COLUMNS
};

#define MEMSCOPE_HEADER                                                                            \
    "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call "         \
    "Stack(Python),Call Stack(C)"

struct memscope_text {
    const char *text;
    size_t length;
};

enum memscope_event {
    MEMSCOPE_MALLOC,
    MEMSCOPE_FREE,
    MEMSCOPE_OP,
    MEMSCOPE_OP_END,
    MEMSCOPE_MARK,
    MEMSCOPE_STEP,
};

struct memscope_row {
    uint64_t time_ns, id, pid, tid;
    uint64_t address, block; /* block: its allocation_id, or its address */
    uint64_t bytes, used;
    uint64_t name;           /* a text */
    uint32_t stack, process; /* process: 0 where the row is of no device */
    uint8_t event;           /* enum memscope_event */
    bool driver;             /* memory of the driver, */
    bool reserved;           /* which a pool's blocks are in */
    bool sum_known, shadow;  /* shadow: a free that happened while nothing was recorded */
    uint64_t pool;           /* which of them: its name, a text */
};

struct memscope { /* zeroed but for its intake: no rows */
    struct intake *in;
    struct memscope_row *rows;
    size_t count, room;
    uint64_t odd; /* rows that make no sense, as a cut one at the end */
};

/* A row of the file. */
void memscope_take(struct memscope *m, const struct memscope_text columns[MEMSCOPE_COLUMNS]);
/* All were taken: tell what they mean. */
void memscope_tell(struct memscope *m);
void memscope_free(struct memscope *m);

/* memscope_reserved.c: find `reserved`, of rows that are in the order of time. */
void memscope_find_reserved(struct memscope *m);

#endif
