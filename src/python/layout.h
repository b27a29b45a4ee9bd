/* layout - where CPython keeps what we read: offsets of one version's structures.
 *
 * 3.9 to 3.12 are tables, made from each version's headers by tools/python_layout.c; a minor
 * version never changes them. 3.13 and later say them themselves, in the first bytes of _PyRuntime.
 */
#ifndef PYTHON_LAYOUT_H
#define PYTHON_LAYOUT_H

#include "python/pymemory.h"

enum py_lines { PY_LINES_LNOTAB, PY_LINES_RANGES, PY_LINES_LOCATIONS };

#define PY_ABSENT UINT16_MAX /* an offset that this version does not have */
#define PY_CODE_MOST 512u    /* bytes of a code object before its instructions */

struct py_layout {
    uint32_t version; /* PY_VERSION_HEX; at least its two highest bytes */
    enum py_lines lines;
    /* _PyRuntime -> interpreters -> PyThreadStates; the kernel's number of a thread, and libc's */
    uint16_t runtime_interpreters, interp_next, interp_threads;
    uint16_t tstate_next, tstate_native_id, tstate_thread_id;
    /* PyThreadState -> the innermost frame, by way of a cframe where there is one */
    uint16_t tstate_frame, cframe_frame;
    /* PyFrameObject before 3.11, _PyInterpreterFrame since */
    uint16_t frame_code, frame_previous, frame_instruction, frame_owner, frame_is_entry;
    uint16_t frame_bytes;
    uint16_t owner_c; /* from this owner on, a frame is no function's: it marks a call from C */
    uint16_t code_file, code_name, code_qualname, code_first_line, code_lines, code_instructions;
    uint16_t code_bytes; /* before its instructions, or to the last of these fields */
    uint16_t type, size; /* of any object; of one with a variable size */
    uint16_t bytes_data;
    uint16_t text_length, text_state, text_ascii, text_compact, text_legacy, text_kind_shift;
    uintptr_t code_type; /* the address of PyCode_Type, for whoever has found it */
};

enum py_layout_found { PY_LAYOUT_FOUND, PY_LAYOUT_UNKNOWN, PY_LAYOUT_FREE_THREADED };

/* The layout of a version, without code_type; `runtime` is the address of its _PyRuntime. */
enum py_layout_found py_layout_find(struct py_layout *l, uint32_t version,
                                    const struct py_memory *m, uintptr_t runtime);

static inline unsigned int py_layout_minor(const struct py_layout *l)
{
    return l->version >> 16 & 255;
}

#endif
