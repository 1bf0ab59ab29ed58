// Written by npu_sim/build.py when the library is built.
#pragma once

namespace npusim {

extern const char* const kOperatorNames[];  // "aclnnAbs"..., found in the wheel's libtorch_npu.so
extern const char* const kOperatorTable;    // the text of operators.txt

}  // namespace npusim
