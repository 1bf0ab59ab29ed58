// Values made from nothing: constants, sequences, triangles.
#include <cmath>

#include "array.h"
#include "kernel.h"

namespace npusim {

namespace {

void fill_with(const Tensor& out, const Scalar& value) {
    if (is_float(out.dtype)) store(out, std::vector<double>(out.numel(), value_of<double>(value)));
    else store(out, std::vector<int64_t>(out.numel(), value_of<int64_t>(value)));
}

void fill_constant(const Call& call, int64_t value) {
    store(call.output(), std::vector<int64_t>(call.output().numel(), value));
}

void fill_tensor(const Call& call) {
    const Tensor& value = call.tensor("value");
    const Tensor& out = call.output();
    if (is_float(value.dtype)) store(out, load<double>(value, out.shape));
    else store(out, load<int64_t>(value, out.shape));
}

void arange(const Call& call) {
    const Tensor& out = call.output();
    if (is_float(out.dtype)) {
        const double start = value_of<double>(call.scalar("start")), step = value_of<double>(call.scalar("step"));
        std::vector<double> values(out.numel());
        for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<double>(i) * step;
        store(out, values);
    } else {
        const int64_t start = value_of<int64_t>(call.scalar("start")), step = value_of<int64_t>(call.scalar("step"));
        std::vector<int64_t> values(out.numel());
        for (size_t i = 0; i < values.size(); ++i) values[i] = start + static_cast<int64_t>(i) * step;
        store(out, values);
    }
}

void linspace(const Call& call) {
    const double start = value_of<double>(call.scalar("start")), end = value_of<double>(call.scalar("end"));
    const int64_t steps = call.output().numel();
    std::vector<double> values(steps);
    for (int64_t i = 0; i < steps; ++i) values[i] = steps == 1 ? start : start + (end - start) * i / (steps - 1);
    store(call.output(), values);
}

void eye(const Call& call) {
    Array<int64_t> out(call.output().shape);
    for (int64_t i = 0; i < out.shape[0] && i < out.shape[1]; ++i) out[i * out.shape[1] + i] = 1;
    store(call.output(), out);
}

// Keeps element (row, column) where keep(column - row).
template <typename Keep>
void triangle(const Call& call, Keep keep) {
    const Tensor& out = call.output();
    const int64_t columns = out.shape.back();
    const int64_t rows = out.shape[out.rank() - 2];
    const auto run = [&](auto zero) {
        auto x = load<decltype(zero)>(call.tensor("self"));
        for (int64_t i = 0; i < x.size(); ++i) {
            if (!keep(i % columns - i / columns % rows)) x[i] = zero;
        }
        store(out, x);
    };
    if (is_float(out.dtype)) run(double{});
    else run(int64_t{});
}

void tril(const Call& call) {
    triangle(call, [k = call.integer("diagonal")](int64_t above) { return above <= k; });
}

void triu(const Call& call) {
    triangle(call, [k = call.integer("diagonal")](int64_t above) { return above >= k; });
}

void fill_diagonal(const Call& call) {
    const Tensor& out = call.output();
    auto x = load<double>(out);
    const int64_t columns = out.shape.back();
    const double value = value_of<double>(call.scalar("value"));
    for (int64_t i = 0; i < x.size(); ++i) {
        if (i % columns == i / columns) x[i] = value;
    }
    store(out, x);
}

void one_hot(const Call& call) {
    const Tensor& out = call.output();
    const auto index = load<int64_t>(call.tensor("self"));
    const auto on = load<int64_t>(call.tensor("on")), off = load<int64_t>(call.tensor("off"));
    const Split split(out.shape, call.integer("axis"));
    Array<int64_t> result(out.shape, off[0]);
    for (int64_t o = 0; o < split.outer; ++o) {
        for (int64_t i = 0; i < split.inner; ++i) {
            const int64_t k = index[o * split.inner + i];
            if (k >= 0 && k < split.length) result[split.at(o, k, i)] = on[0];
        }
    }
    store(out, result);
}

}  // namespace

void register_fill(Registry& registry) {
    registry.add("InplaceZero", [](const Call& call) { fill_constant(call, 0); });
    registry.add("InplaceOne", [](const Call& call) { fill_constant(call, 1); });
    registry.add("InplaceFillScalar", [](const Call& call) { fill_with(call.output(), call.scalar("value")); });
    registry.add("InplaceFillTensor", fill_tensor);
    registry.add("Arange", arange);
    registry.add("Range", arange);
    registry.add("Linspace", linspace);
    registry.add("Eye", eye);
    for (const std::string prefix : {"", "Inplace"}) {
        registry.add(prefix + "Tril", tril);
        registry.add(prefix + "Triu", triu);
    }
    registry.add("InplaceFillDiagonal", fill_diagonal);
    registry.add("OneHot", one_hot);
}

}  // namespace npusim
