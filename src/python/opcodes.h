/* opcodes - which instructions of Python call something. */
#ifndef PYTHON_OPCODES_H
#define PYTHON_OPCODES_H

#include <stdbool.h>
#include <stdint.h>

/* Does it call a function? False for versions whose instructions are not known. */
bool py_opcode_calls(uint32_t version, uint8_t opcode);

#endif
