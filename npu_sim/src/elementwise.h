// Helpers of the elementwise families: which type to compute in, and operands that are tensors or scalars.
#pragma once

#include <initializer_list>
#include <string>

#include "array.h"

namespace npusim {

// Whether a float is among the operands (tensors or scalars that are given) or the output.
bool computes_in_float(const Call& call, std::initializer_list<const char*> operands, bool output_counts = true);

// A tensor, broadcast to the shape, or a scalar, spread over it.
template <typename T>
Array<T> operand(const Call& call, const std::string& name, const Shape& shape) {
    const Value& value = call.value(name);
    if (const auto* scalar = std::get_if<Scalar>(&value)) return Array<T>(shape, value_of<T>(*scalar));
    return load<T>(call.tensor(name), shape);
}

}  // namespace npusim
