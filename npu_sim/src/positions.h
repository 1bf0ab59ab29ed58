// Helpers of the families that read and write at positions that are data.
#pragma once

#include "call.h"

namespace npusim {

// An index counted from the front. Throws UnsupportedCall when it lies outside of `size`.
int64_t checked(int64_t index, int64_t size, const Call& call);

// Calls f(double{}) or f(int64_t{}): the type that holds every value of the tensor.
template <typename F>
void with_type(const Tensor& tensor, F f) {
    if (is_float(tensor.dtype)) f(double{});
    else f(int64_t{});
}

}  // namespace npusim
