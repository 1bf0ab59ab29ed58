// Two operands, tensors or scalars, broadcast to the output.
#include <cmath>

#include "elementwise.h"
#include "kernel.h"

namespace npusim {

namespace {

template <typename T>
T floor_divide(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        if (b == 0) return 0;
        const T quotient = a / b;
        return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
    } else {
        return std::floor(a / b);
    }
}

template <typename T>
T remainder(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        return b == 0 ? 0 : a - floor_divide(a, b) * b;
    } else {
        const T rest = std::fmod(a, b);
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
}

template <typename T>
T fmod(T a, T b) {
    if constexpr (std::is_integral_v<T>) return b == 0 ? 0 : a % b;
    else return std::fmod(a, b);
}

template <typename T>
T power(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
        if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : -1) : 0;
        T result = 1;
        for (; b > 0; b >>= 1, a *= a) {
            if (b & 1) result *= a;
        }
        return result;
    } else {
        return std::pow(a, b);
    }
}

template <typename T>
T maximum(T a, T b) {
    return a != a ? a : b != b ? b : a > b ? a : b;
}

template <typename T>
T minimum(T a, T b) {
    return a != a ? a : b != b ? b : a < b ? a : b;
}

double atan2(double a, double b) { return std::atan2(a, b); }

double log_add_exp(double a, double b) {
    const double high = std::max(a, b);
    return std::isinf(high) ? high : high + std::log1p(std::exp(std::min(a, b) - high));
}

struct Row {
    double (*real)(double, double);
    int64_t (*whole)(int64_t, int64_t) = nullptr;
};

template <typename T>
void apply(const Call& call, T (*f)(T, T)) {
    const Tensor& out = call.output();
    auto a = operand<T>(call, "self", out.shape);
    const auto b = operand<T>(call, "other", out.shape);
    for (int64_t i = 0; i < a.size(); ++i) a[i] = f(a[i], b[i]);
    store(out, a);
}

void binary(const Call& call, const Row& row) {
    if (row.whole != nullptr && !computes_in_float(call, {"self", "other"})) apply<int64_t>(call, row.whole);
    else if (row.real != nullptr) apply<double>(call, row.real);
    else throw UnsupportedCall(call.op() + ": takes no floats");
}

// Comparisons and logic: the output is bool whatever the operands are.
template <typename F>
void predicate(const Call& call, F f) {
    const Tensor& out = call.output();
    const bool real = computes_in_float(call, {"self", "other"}, false);
    const auto run = [&](auto zero) {
        using T = decltype(zero);
        const auto a = operand<T>(call, "self", out.shape);
        const auto b = operand<T>(call, "other", out.shape);
        Array<int64_t> result(out.shape);
        for (int64_t i = 0; i < a.size(); ++i) result[i] = f(a[i], b[i]);
        store(out, result);
    };
    if (real) run(double{});
    else run(int64_t{});
}

// self + sign * alpha * other, or the reverse.
template <typename T>
void add_scaled(const Call& call, T self_sign, T other_sign) {
    const Tensor& out = call.output();
    auto a = operand<T>(call, "self", out.shape);
    const auto b = operand<T>(call, "other", out.shape);
    const T alpha = value_of<T>(call.scalar("alpha"));
    const T self_factor = self_sign < 0 ? self_sign * alpha : self_sign;
    const T other_factor = self_sign < 0 ? other_sign : other_sign * alpha;
    for (int64_t i = 0; i < a.size(); ++i) a[i] = self_factor * a[i] + other_factor * b[i];
    store(out, a);
}

Kernel scaled(int self_sign, int other_sign) {
    return [=](const Call& call) {
        if (computes_in_float(call, {"self", "other", "alpha"})) add_scaled<double>(call, self_sign, other_sign);
        else add_scaled<int64_t>(call, self_sign, other_sign);
    };
}

double true_divide(double a, double b) { return a / b; }
double trunc_divide(double a, double b) { return std::trunc(a / b); }
int64_t trunc_divide_whole(int64_t a, int64_t b) { return b == 0 ? 0 : a / b; }

void divide_rounded(const Call& call) {
    switch (call.integer("mode")) {
        case 0: return binary(call, {true_divide});
        case 1: return binary(call, {trunc_divide, trunc_divide_whole});
        case 2: return binary(call, {floor_divide<double>, floor_divide<int64_t>});
        default: throw UnsupportedCall(call.op() + ": unknown rounding mode");
    }
}

void add_everywhere(Registry& registry, const std::string& name, const Kernel& kernel,
                    const std::vector<std::string>& suffixes) {
    for (const std::string& suffix : suffixes) {
        registry.add(name + suffix, kernel);
        registry.add("Inplace" + name + suffix, kernel);
    }
}

Kernel row(Row functions) {
    return [functions](const Call& call) { binary(call, functions); };
}

template <typename F>
Kernel test(F f) {
    return [f](const Call& call) { predicate(call, f); };
}

void register_comparisons(Registry& registry) {
    const std::vector<std::string> both = {"Tensor", "Scalar"};
    add_everywhere(registry, "Eq", test([](auto a, auto b) { return a == b; }), both);
    add_everywhere(registry, "Ne", test([](auto a, auto b) { return a != b; }), both);
    add_everywhere(registry, "Gt", test([](auto a, auto b) { return a > b; }), both);
    add_everywhere(registry, "Ge", test([](auto a, auto b) { return a >= b; }), both);
    add_everywhere(registry, "Lt", test([](auto a, auto b) { return a < b; }), both);
    add_everywhere(registry, "Le", test([](auto a, auto b) { return a <= b; }), both);
    registry.add("LessScalar", test([](auto a, auto b) { return a < b; }));
    add_everywhere(registry, "LogicalAnd", test([](auto a, auto b) { return a != 0 && b != 0; }), {""});
    add_everywhere(registry, "LogicalOr", test([](auto a, auto b) { return a != 0 || b != 0; }), {""});
    registry.add("LogicalXor", test([](auto a, auto b) { return (a != 0) != (b != 0); }));
}

void register_bitwise(Registry& registry) {
    const std::vector<std::string> both = {"Tensor", "Scalar"};
    add_everywhere(registry, "BitwiseAnd", row({nullptr, [](int64_t a, int64_t b) { return a & b; }}), both);
    add_everywhere(registry, "BitwiseOr", row({nullptr, [](int64_t a, int64_t b) { return a | b; }}), both);
    add_everywhere(registry, "BitwiseXor", row({nullptr, [](int64_t a, int64_t b) { return a ^ b; }}), both);
    registry.add("LeftShift", row({nullptr, [](int64_t a, int64_t b) { return a << b; }}));
    registry.add("RightShift", row({nullptr, [](int64_t a, int64_t b) { return a >> b; }}));
}

}  // namespace

void register_binary(Registry& registry) {
    add_everywhere(registry, "Add", scaled(1, 1), {"", "s", "V3"});
    add_everywhere(registry, "Sub", scaled(1, -1), {"", "s"});
    add_everywhere(registry, "Rsub", scaled(-1, 1), {"", "s"});
    add_everywhere(registry, "Mul",
                   row({[](double a, double b) { return a * b; }, [](int64_t a, int64_t b) { return a * b; }}),
                   {"", "s"});
    add_everywhere(registry, "Div", row({true_divide}), {"", "s"});
    add_everywhere(registry, "DivMod", divide_rounded, {"", "s"});
    add_everywhere(registry, "FloorDivide", row({floor_divide<double>, floor_divide<int64_t>}), {"", "s"});
    add_everywhere(registry, "Pow", row({power<double>, power<int64_t>}),
                   {"TensorTensor", "TensorScalar", "ScalarTensor"});
    add_everywhere(registry, "Remainder", row({remainder<double>, remainder<int64_t>}),
                   {"TensorTensor", "TensorScalar", "ScalarTensor"});
    add_everywhere(registry, "Fmod", row({fmod<double>, fmod<int64_t>}), {"Tensor", "Scalar"});
    add_everywhere(registry, "Atan2", row({atan2}), {""});
    registry.add("Maximum", row({maximum<double>, maximum<int64_t>}));
    registry.add("Minimum", row({minimum<double>, minimum<int64_t>}));
    for (const std::string prefix : {"", "Inplace"}) {
        for (const std::string suffix : {"", "Tensor"}) {
            registry.add(prefix + "ClampMin" + suffix, row({maximum<double>, maximum<int64_t>}));
            registry.add(prefix + "ClampMax" + suffix, row({minimum<double>, minimum<int64_t>}));
        }
    }
    registry.add("LogAddExp", row({log_add_exp}));
    registry.add("Prelu", row({[](double a, double b) { return a > 0 ? a : a * b; }}));
    register_comparisons(registry);
    register_bitwise(registry);
}

}  // namespace npusim
