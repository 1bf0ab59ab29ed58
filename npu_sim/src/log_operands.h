// Operands as the launch log writes them.
#pragma once

#include <string>
#include <vector>

#include "call.h"

namespace npusim {

// JSON array of the tensors among the operands, with their names and directions; a list's items are "name[0]"...
std::string operands_json(const Call& call);

// The same for an operator without an entry in the table: no names, directions unknown.
std::string operands_json(const std::vector<Value>& values);

// One operand that is a plain range of bytes.
std::string bytes_json(const std::string& name, const std::string& direction, const void* address, size_t bytes);

}  // namespace npusim
