// Three operands and more, elementwise.
#include <algorithm>
#include <cmath>

#include "elementwise.h"
#include "kernel.h"

namespace npusim {

namespace {

template <typename T>
void clamp_as(const Call& call) {
    const Tensor& out = call.output();
    auto x = operand<T>(call, "self", out.shape);
    if (call.has("min")) {
        const auto low = operand<T>(call, "min", out.shape);
        for (int64_t i = 0; i < x.size(); ++i) x[i] = x[i] < low[i] ? low[i] : x[i];
    }
    if (call.has("max")) {
        const auto high = operand<T>(call, "max", out.shape);
        for (int64_t i = 0; i < x.size(); ++i) x[i] = x[i] > high[i] ? high[i] : x[i];
    }
    store(out, x);
}

void clamp(const Call& call) {
    if (computes_in_float(call, {"self", "min", "max"})) clamp_as<double>(call);
    else clamp_as<int64_t>(call);
}

template <typename T>
void where_as(const Call& call) {
    const Tensor& out = call.output();
    const auto condition = operand<int64_t>(call, "condition", out.shape);
    auto a = operand<T>(call, "self", out.shape);
    const auto b = operand<T>(call, "other", out.shape);
    for (int64_t i = 0; i < a.size(); ++i) a[i] = condition[i] != 0 ? a[i] : b[i];
    store(out, a);
}

void where(const Call& call) {
    if (computes_in_float(call, {"self", "other"})) where_as<double>(call);
    else where_as<int64_t>(call);
}

template <typename T>
void masked_fill_as(const Call& call) {
    const Tensor& out = call.output();
    auto x = load<T>(out);
    const auto mask = load<int64_t>(call.tensor("mask"), out.shape);
    const auto value = operand<T>(call, "value", out.shape);
    for (int64_t i = 0; i < x.size(); ++i) x[i] = mask[i] != 0 ? value[i] : x[i];
    store(out, x);
}

void masked_fill(const Call& call) {
    if (is_float(call.output().dtype)) masked_fill_as<double>(call);
    else masked_fill_as<int64_t>(call);
}

template <typename F>
void combine(const Call& call, const char* second, const char* third, F f) {
    const Tensor& out = call.output();
    auto x = operand<double>(call, "self", out.shape);
    const auto b = operand<double>(call, second, out.shape);
    const auto c = operand<double>(call, third, out.shape);
    for (int64_t i = 0; i < x.size(); ++i) x[i] = f(x[i], b[i], c[i]);
    store(out, x);
}

void addcmul(const Call& call) {
    const double value = value_of<double>(call.scalar("value"));
    combine(call, "tensor1", "tensor2", [value](double x, double b, double c) { return x + value * b * c; });
}

void addcdiv(const Call& call) {
    const double value = value_of<double>(call.scalar("value"));
    combine(call, "tensor1", "tensor2", [value](double x, double b, double c) { return x + value * b / c; });
}

void lerp(const Call& call) {
    combine(call, "end", "weight", [](double x, double end, double weight) { return x + weight * (end - x); });
}

void is_close(const Call& call) {
    const Tensor& out = call.output();
    const auto a = load<double>(call.tensor("self"), out.shape);
    const auto b = load<double>(call.tensor("other"), out.shape);
    const double relative = call.real("rtol"), absolute = call.real("atol");
    const bool nan_is_nan = call.integer("equal_nan") != 0;
    Array<int64_t> result(out.shape);
    for (int64_t i = 0; i < a.size(); ++i) {
        const bool close = std::isfinite(b[i]) && std::fabs(a[i] - b[i]) <= absolute + relative * std::fabs(b[i]);
        result[i] = a[i] == b[i] || close || (nan_is_nan && std::isnan(a[i]) && std::isnan(b[i]));
    }
    store(out, result);
}

void equal(const Call& call) {
    const Tensor& self = call.tensor("self");
    const Tensor& other = call.tensor("other");
    int64_t same = self.shape == other.shape;
    if (same != 0) same = load<double>(self).values == load<double>(other).values;
    store(call.output(), std::vector<int64_t>{same});
}

}  // namespace

void register_ternary(Registry& registry) {
    registry.add("Clamp", clamp);
    registry.add("ClampTensor", clamp);
    registry.add("SWhere", where);
    registry.add("InplaceMaskedFillScalar", masked_fill);
    registry.add("InplaceMaskedFillTensor", masked_fill);
    for (const std::string prefix : {"", "Inplace"}) {
        registry.add(prefix + "Addcmul", addcmul);
        registry.add(prefix + "Addcdiv", addcdiv);
        registry.add(prefix + "Lerp", lerp);
        registry.add(prefix + "Lerps", lerp);
    }
    registry.add("IsClose", is_close);
    registry.add("Equal", equal);
}

}  // namespace npusim
