#include "array.h"
#include "kernel.h"

namespace npusim {

namespace {

void add(const Call& call) {
    const Tensor& out = call.output();
    auto a = load<double>(call.tensor("self"), out.shape);
    const double alpha = value_of<double>(call.scalar("alpha"));
    const auto b = call.op() == "aclnnAdd" ? load<double>(call.tensor("other"), out.shape)
                                        : Array<double>(out.shape, value_of<double>(call.scalar("other")));
    for (int64_t i = 0; i < a.size(); ++i) a[i] += alpha * b[i];
    store(out, a);
}

}  // namespace

void register_binary(Registry& registry) {
    registry.add("Add", add);
    registry.add("Adds", add);
}

}  // namespace npusim
