// The operand direction table: for each operator its operands in call order, their kinds, and which it writes.
#pragma once

#include <string>
#include <vector>

namespace npusim {

enum class Kind {
    tensor,
    tensors,
    scalar,
    scalars,
    ints,
    floats,
    bools,
    i64,
    i32,
    i8,
    boolean,
    f64,
    f32,
    string,
    dtype
};
enum class Direction { in, out, inout };

struct Parameter {
    std::string name;
    Kind kind = Kind::tensor;
    Direction direction = Direction::in;
    std::string condition;  // a boolean operand: only read when it is false; empty for most
};

using Signature = std::vector<Parameter>;

// The entry of an operator ("aclnnAdd"), or nullptr.
const Signature* find_signature(const std::string& op);

}  // namespace npusim
