// Dynamic quantisation to i8, shared by the families that contain one.
#pragma once

#include <vector>

#include "array.h"

namespace npusim {

// Scales each row (last dimension) so that its greatest magnitude becomes 127, and rounds. Returns the rows' scales.
std::vector<double> quantize_rows(Array<double>& x);

}  // namespace npusim
