// One tensor in, one tensor of the same shape out.
#include <cmath>
#include <limits>

#include "elementwise.h"
#include "kernel.h"

namespace npusim {

namespace {

using Real = double (*)(double);
using Whole = int64_t (*)(int64_t);

double sign(double x) { return std::isnan(x) ? x : (x > 0) - (x < 0); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double silu(double x) { return x * sigmoid(x); }
double relu(double x) { return x < 0 ? 0 : x; }
double gelu(double x) { return 0.5 * x * (1 + std::erf(x * M_SQRT1_2)); }
double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
double softplus(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }
double log_sigmoid(double x) { return std::min(x, 0.0) - std::log1p(std::exp(-std::fabs(x))); }
double hard_sigmoid(double x) { return std::min(std::max(x + 3, 0.0), 6.0) / 6; }

struct Row {
    const char* name;
    Real real;
    Whole whole = nullptr;  // for integers in and out, where it differs from converting to double
};

const Row kRows[] = {
    {"Abs", [](double x) { return std::fabs(x); }, [](int64_t x) { return x < 0 ? -x : x; }},
    {"Acos", std::acos},
    {"Acosh", std::acosh},
    {"Asin", std::asin},
    {"Asinh", std::asinh},
    {"Atan", std::atan},
    {"Atanh", std::atanh},
    {"Ceil", std::ceil},
    {"Cos", std::cos},
    {"Cosh", std::cosh},
    {"Erf", std::erf},
    {"Erfc", std::erfc},
    {"Exp", std::exp},
    {"Exp2", std::exp2},
    {"Expm1", std::expm1},
    {"Floor", std::floor},
    {"Frac", [](double x) { return x - std::trunc(x); }},
    {"FastGelu", [](double x) { return x / (1 + std::exp(-1.702 * x)); }},
    {"Gelu", gelu},
    {"Hardsigmoid", hard_sigmoid},
    {"Hardswish", [](double x) { return x * hard_sigmoid(x); }},
    {"Log", std::log},
    {"Log10", std::log10},
    {"Log1p", std::log1p},
    {"Log2", std::log2},
    {"LogSigmoid", log_sigmoid},
    {"LogSigmoidForward", log_sigmoid},
    {"LogicalNot", [](double x) { return x == 0 ? 1.0 : 0.0; }, [](int64_t x) -> int64_t { return x == 0; }},
    {"Mish", [](double x) { return x * std::tanh(softplus(x)); }},
    {"Neg", [](double x) { return -x; }, [](int64_t x) { return -x; }},
    {"Reciprocal", [](double x) { return 1 / x; }},
    {"Relu", relu, [](int64_t x) { return x < 0 ? 0 : x; }},
    {"Round", [](double x) { return std::nearbyint(x); }, [](int64_t x) { return x; }},
    {"Rsqrt", [](double x) { return 1 / std::sqrt(x); }},
    {"Sigmoid", sigmoid},
    {"Sign", sign, [](int64_t x) -> int64_t { return (x > 0) - (x < 0); }},
    {"Signbit", [](double x) { return std::signbit(x) ? 1.0 : 0.0; }},
    {"Silu", silu},
    {"Sin", std::sin},
    {"Sinh", std::sinh},
    {"Sqrt", std::sqrt},
    {"Tan", std::tan},
    {"Tanh", std::tanh},
    {"Trunc", std::trunc},
    {"IsFinite", [](double x) { return std::isfinite(x) ? 1.0 : 0.0; }},
    {"IsNegInf", [](double x) { return std::isinf(x) && x < 0 ? 1.0 : 0.0; }},
    {"IsPosInf", [](double x) { return std::isinf(x) && x > 0 ? 1.0 : 0.0; }},
};

template <typename T, typename F>
void apply(const Call& call, F f) {
    const Tensor& out = call.output();
    auto x = load<T>(call.tensor("self"), out.shape);
    for (T& value : x.values) value = f(value);
    store(out, x);
}

void unary(const Call& call, const Row& row) {
    if (row.whole != nullptr && !computes_in_float(call, {"self"})) apply<int64_t>(call, row.whole);
    else apply<double>(call, row.real);
}

void bitwise_not(const Call& call) {
    const bool logical = call.tensor("self").dtype == ACL_BOOL;
    apply<int64_t>(call, [logical](int64_t x) { return logical ? x == 0 : ~x; });
}

void gelu_v2(const Call& call) { apply<double>(call, call.integer("approximate") == 1 ? gelu_tanh : gelu); }

double number(const Call& call, const char* name) { return value_of<double>(call.scalar(name)); }

void elu(const Call& call) {
    const double alpha = number(call, "alpha"), scale = number(call, "scale"),
                 input_scale = number(call, "input_scale");
    apply<double>(call, [=](double x) { return x > 0 ? scale * x : scale * alpha * std::expm1(input_scale * x); });
}

void leaky_relu(const Call& call) {
    const double slope = number(call, "slope");
    apply<double>(call, [=](double x) { return x > 0 ? x : slope * x; });
}

void hard_tanh(const Call& call) {
    const double low = number(call, "min"), high = number(call, "max");
    apply<double>(call, [=](double x) { return std::isnan(x) ? x : std::min(std::max(x, low), high); });
}

void softplus_with(const Call& call) {
    const double beta = number(call, "beta"), threshold = number(call, "threshold");
    apply<double>(call, [=](double x) { return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta; });
}

void threshold(const Call& call) {
    const double limit = number(call, "threshold"), value = number(call, "value");
    apply<double>(call, [=](double x) { return x <= limit ? value : x; });
}

void round_decimals(const Call& call) {
    const double factor = std::pow(10.0, static_cast<double>(call.integer("decimals")));
    apply<double>(call, [=](double x) { return std::nearbyint(x * factor) / factor; });
}

void nan_to_num(const Call& call) {
    const double nan = call.real("nan"), positive = call.real("posinf"), negative = call.real("neginf");
    apply<double>(call, [=](double x) {
        return std::isnan(x) ? nan : std::isinf(x) ? (x > 0 ? positive : negative) : x;
    });
}

}  // namespace

void register_unary(Registry& registry) {
    for (const Row& row : kRows) {
        const Kernel kernel = [&row](const Call& call) { unary(call, row); };
        registry.add(row.name, kernel);
        registry.add(std::string("Inplace") + row.name, kernel);
    }
    registry.add("BitwiseNot", bitwise_not);
    registry.add("GeluV2", gelu_v2);
    for (const std::string prefix : {"", "Inplace"}) {
        registry.add(prefix + "Elu", elu);
        registry.add(prefix + "LeakyRelu", leaky_relu);
        registry.add(prefix + "Hardtanh", hard_tanh);
        registry.add(prefix + "Threshold", threshold);
        registry.add(prefix + "RoundDecimals", round_decimals);
        registry.add(prefix + "NanToNum", nan_to_num);
    }
    registry.add("Softplus", softplus_with);
}

}  // namespace npusim
