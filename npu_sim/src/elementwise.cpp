#include "elementwise.h"

namespace npusim {

bool computes_in_float(const Call& call, std::initializer_list<const char*> operands, bool output_counts) {
    if (output_counts && is_float(call.output().dtype)) return true;
    for (const char* name : operands) {
        if (!call.has(name)) continue;
        const Value& value = call.value(name);
        const auto* scalar = std::get_if<Scalar>(&value);
        if (is_float(scalar != nullptr ? scalar->dtype : call.tensor(name).dtype)) return true;
    }
    return false;
}

}  // namespace npusim
