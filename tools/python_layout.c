/* python_layout - prints the offsets of one CPython as a row for src/python/layout.c. Compile it
 * against that version's headers: cc -w -I INCLUDE -I INCLUDE/internal tools/python_layout.c
 */
#define Py_BUILD_CORE 1
#include <Python.h>

#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>

#include "internal/pycore_runtime.h"

#include "internal/pycore_interp.h"
#if PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_frame.h"
#endif

#define SHOW(name, type, field) printf("        ." #name " = %zu,\n", offsetof(type, field))

#if PY_VERSION_HEX >= 0x030d0000
static void show_frame(void)
{
    SHOW(tstate_frame, PyThreadState, current_frame);
    SHOW(frame_code, _PyInterpreterFrame, f_executable);
    SHOW(frame_previous, _PyInterpreterFrame, previous);
    SHOW(frame_instruction, _PyInterpreterFrame, instr_ptr);
    SHOW(frame_owner, _PyInterpreterFrame, owner);
    SHOW(frame_bytes, _PyInterpreterFrame, localsplus);
}
#elif PY_VERSION_HEX >= 0x030b0000
static void show_frame(void)
{
    SHOW(tstate_frame, PyThreadState, cframe);
    SHOW(cframe_frame, _PyCFrame, current_frame);
    SHOW(frame_code, _PyInterpreterFrame, f_code);
    SHOW(frame_previous, _PyInterpreterFrame, previous);
    SHOW(frame_instruction, _PyInterpreterFrame, prev_instr);
    SHOW(frame_owner, _PyInterpreterFrame, owner);
    SHOW(frame_bytes, _PyInterpreterFrame, localsplus);
#if PY_VERSION_HEX < 0x030c0000
    SHOW(frame_is_entry, _PyInterpreterFrame, is_entry);
#endif
}
#else
static void show_frame(void)
{
    SHOW(tstate_frame, PyThreadState, frame);
    SHOW(frame_code, PyFrameObject, f_code);
    SHOW(frame_previous, PyFrameObject, f_back);
    SHOW(frame_instruction, PyFrameObject, f_lasti);
}
#endif

#if PY_VERSION_HEX >= 0x030b0000
static void show_code(void)
{
    SHOW(code_qualname, PyCodeObject, co_qualname);
    SHOW(code_lines, PyCodeObject, co_linetable);
    SHOW(code_instructions, PyCodeObject, co_code_adaptive);
}
#elif PY_VERSION_HEX >= 0x030a0000
static void show_code(void)
{
    SHOW(code_lines, PyCodeObject, co_linetable);
    SHOW(code_instructions, PyCodeObject, co_code);
}
#else
static void show_code(void)
{
    SHOW(code_lines, PyCodeObject, co_lnotab);
    SHOW(code_instructions, PyCodeObject, co_code);
}
#endif

int main(void)
{
    printf("    { /* %s */\n        .version = %#x,\n", PY_VERSION, PY_VERSION_HEX);
    show_frame();
    SHOW(code_file, PyCodeObject, co_filename);
    SHOW(code_name, PyCodeObject, co_name);
    SHOW(code_first_line, PyCodeObject, co_firstlineno);
    show_code();
    SHOW(type, PyObject, ob_type);
    SHOW(size, PyVarObject, ob_size);
    SHOW(bytes_data, PyBytesObject, ob_sval);
    SHOW(text_length, PyASCIIObject, length);
    SHOW(text_state, PyASCIIObject, state);
    printf("        .text_ascii = %zu,\n", sizeof(PyASCIIObject));
    printf("        .text_compact = %zu,\n", sizeof(PyCompactUnicodeObject));
    SHOW(text_legacy, PyUnicodeObject, data);
    printf("    },\n");
    return 0;
}
