// Matrix products on arrays, shared by the families that contain one.
#pragma once

#include "array.h"

namespace npusim {

// (..., n, k) by (..., k, m), batches broadcast; a vector on either side is taken as a row or a column, as in torch.
Array<double> matmul(const Array<double>& a, const Array<double>& b);

// The last two dimensions exchanged.
Array<double> transposed(const Array<double>& x);

}  // namespace npusim
