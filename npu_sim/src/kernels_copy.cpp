#include "array.h"
#include "kernel.h"

namespace npusim {

namespace {

void copy(const Tensor& target, const Tensor& source) {
    if (is_float(source.dtype)) store(target, load<double>(source, target.shape));
    else store(target, load<int64_t>(source, target.shape));
}

}  // namespace

void register_copy(Registry& registry) {
    registry.add("InplaceCopy", [](const Call& call) { copy(call.tensor("self"), call.tensor("source")); });
}

}  // namespace npusim
