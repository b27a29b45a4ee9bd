/* opcodes - see opcodes.h. Specialised and instrumented forms have numbers of their own, and each
 * minor version numbers anew: these are from its opcode.h, or opcode_ids.h.
 */
#include "python/opcodes.h"

#include <stddef.h>

struct range {
    uint8_t minor, first, last;
};

static const struct range calls[] =
    {
        {9, 131, 131},  {9, 141, 142},  {9, 161, 161}, /* CALL_FUNCTION, _KW, _EX, CALL_METHOD */
        {10, 131, 131}, {10, 141, 142}, {10, 161, 161},
        {11, 22, 24},                 /* CALL_ADAPTIVE, CALL_PY_... */
        {11, 64, 67},   {11, 72, 73}, /* PRECALL_... */
        {11, 76, 81},   {11, 113, 113}, {11, 121, 121},
        {11, 127, 127}, {11, 141, 143}, /* the last are CALL_FUNCTION_EX, PRECALL_PYFUNC */
        {11, 166, 166}, {11, 171, 171}, /* PRECALL, CALL */
        {12, 23, 24},   {12, 28, 29},   /* CALL_PY_..., CALL_BOUND_METHOD, CALL_BUILTIN */
        {12, 34, 34},   {12, 38, 48},   {12, 56, 56},
        {12, 142, 142}, {12, 171, 171}, {12, 241, 241},
        {12, 244, 244}, {13, 53, 54},   {13, 57, 57}, /* CALL, CALL_FUNCTION_EX, CALL_KW */
        {13, 162, 181}, {13, 244, 246},               /* specialised; instrumented */
        {14, 4, 4},     {14, 52, 52},   {14, 55, 55}, /* CALL_FUNCTION_EX, CALL, CALL_KW */
        {14, 143, 165}, {14, 250, 252}, {15, 4, 4},
        {15, 50, 50},   {15, 53, 53},   {15, 144, 168},
        {15, 249, 251},
};

bool py_opcode_calls(uint32_t version, uint8_t opcode)
{
    unsigned int minor = version >> 16 & 255;

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (calls[i].minor == minor && opcode >= calls[i].first && opcode <= calls[i].last)
            return true;
    return false;
}
