// Reductions over dimensions, running sums, softmax.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "array.h"
#include "kernel.h"

namespace npusim {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The input's elements, gathered for each element of the output: `width` values in a row.
template <typename T>
struct Gathered {
    std::vector<T> values;
    int64_t groups;
    int64_t width;
    const T* begin(int64_t group) const { return values.data() + group * width; }
    const T* end(int64_t group) const { return begin(group) + width; }
};

// Moves the reduced dimensions to the end. No dimensions means all of them.
template <typename T>
Gathered<T> gather(const Tensor& x, const std::vector<int64_t>& dims) {
    std::vector<bool> reduced(x.rank(), dims.empty());
    for (const int64_t dim : dims) {
        if (x.rank() > 0) reduced[from_front(dim, x.rank())] = true;
    }
    Tensor view = x;
    Shape shape, strides;
    int64_t width = 1;
    for (const bool last : {false, true}) {
        for (int d = 0; d < x.rank(); ++d) {
            if (reduced[d] != last) continue;
            shape.push_back(x.shape[d]);
            strides.push_back(x.strides[d]);
            if (last) width *= x.shape[d];
        }
    }
    view.shape = shape;
    view.strides = strides;
    auto values = load<T>(view).values;
    const int64_t groups = width == 0 ? 0 : static_cast<int64_t>(values.size()) / width;
    return {std::move(values), groups, width};
}

std::vector<int64_t> dims_of(const Call& call) {
    if (!call.has("dims")) return {};
    const Value& value = call.value("dims");
    if (const auto* one = std::get_if<int64_t>(&value)) return {*one};
    return call.ints("dims");
}

template <typename T, typename F>
void reduce_as(const Call& call, const Tensor& out, F f) {
    const auto x = gather<T>(call.tensor("self"), dims_of(call));
    using R = decltype(f(x.begin(0), x.end(0)));
    std::vector<R> result(out.numel());
    const T* none = x.values.data();
    for (int64_t g = 0; g < out.numel(); ++g) result[g] = x.width == 0 ? f(none, none) : f(x.begin(g), x.end(g));
    store(out, result);
}

template <typename F>
Kernel real_reduction(F f) {
    return [f](const Call& call) { reduce_as<double>(call, call.output(), f); };
}

// In integers when input and output are.
template <typename F>
Kernel exact_reduction(F f) {
    return [f](const Call& call) {
        if (is_float(call.tensor("self").dtype) || is_float(call.output().dtype))
            reduce_as<double>(call, call.output(), f);
        else reduce_as<int64_t>(call, call.output(), f);
    };
}

template <typename T>
T sum(const T* begin, const T* end) {
    return std::accumulate(begin, end, T{});
}

double mean(const double* begin, const double* end) { return sum(begin, end) / static_cast<double>(end - begin); }

template <typename T>
T product(const T* begin, const T* end) {
    return std::accumulate(begin, end, T{1}, std::multiplies<T>());
}

// The position of the first greatest element; NaN is greater than anything.
template <typename T>
int64_t arg_max(const T* begin, const T* end) {
    return std::max_element(begin, end, [](T a, T b) { return a == a && (b != b || a < b); }) - begin;
}

template <typename T>
int64_t arg_min(const T* begin, const T* end) {
    return std::min_element(begin, end, [](T a, T b) { return b == b && (a != a || a < b); }) - begin;
}

template <typename T>
T greatest(const T* begin, const T* end) {
    return begin[arg_max(begin, end)];
}
template <typename T>
T least(const T* begin, const T* end) {
    return begin[arg_min(begin, end)];
}

double norm(const double* begin, const double* end, double p) {
    double total = 0;
    for (const double* x = begin; x != end; ++x) {
        const double size = std::fabs(*x);
        if (std::isinf(p)) total = x == begin ? size : p > 0 ? std::max(total, size) : std::min(total, size);
        else total += p == 0 ? (size != 0) : p == 2 ? size * size : std::pow(size, p);
    }
    return std::isinf(p) || p == 0 ? total : p == 2 ? std::sqrt(total) : std::pow(total, 1 / p);
}

void norm_with(const Call& call) {
    const double p = value_of<double>(call.scalar("p"));
    reduce_as<double>(call, call.output(), [p](const double* begin, const double* end) { return norm(begin, end, p); });
}

double variance(const double* begin, const double* end, int64_t correction) {
    const double middle = mean(begin, end);
    double total = 0;
    for (const double* x = begin; x != end; ++x) total += (*x - middle) * (*x - middle);
    return total / std::max<double>(0, static_cast<double>(end - begin - correction));
}

Kernel spread(bool root) {
    return [root](const Call& call) {
        const int64_t correction = call.integer("correction");
        reduce_as<double>(call, call.tensor("out"), [=](const double* begin, const double* end) {
            const double value = variance(begin, end, correction);
            return root ? std::sqrt(value) : value;
        });
        if (call.has("mean")) reduce_as<double>(call, call.tensor("mean"), mean);
    };
}

double log_sum_exp(const double* begin, const double* end) {
    const double high = *std::max_element(begin, end);
    if (std::isinf(high)) return high;
    double total = 0;
    for (const double* x = begin; x != end; ++x) total += std::exp(*x - high);
    return high + std::log(total);
}

// Values and positions along one dimension.
template <typename T>
void extreme_as(const Call& call, int64_t (*position)(const T*, const T*)) {
    reduce_as<T>(call, call.tensor("out"), [=](const T* begin, const T* end) { return begin[position(begin, end)]; });
    reduce_as<T>(call, call.tensor("indices"), position);
}

void max_dim(const Call& call) {
    if (is_float(call.tensor("self").dtype)) extreme_as<double>(call, arg_max<double>);
    else extreme_as<int64_t>(call, arg_max<int64_t>);
}

void min_dim(const Call& call) {
    if (is_float(call.tensor("self").dtype)) extreme_as<double>(call, arg_min<double>);
    else extreme_as<int64_t>(call, arg_min<int64_t>);
}

void extremes(const Call& call) {
    reduce_as<double>(call, call.tensor("min"), least<double>);
    reduce_as<double>(call, call.tensor("max"), greatest<double>);
}

template <typename T, typename F>
void scan_as(const Call& call, int64_t dim, F f) {
    const Tensor& out = call.output();
    auto x = load<T>(call.tensor("self"), out.shape);
    const Split split(out.shape, dim);
    for (int64_t o = 0; o < split.outer; ++o) {
        for (int64_t k = 1; k < split.length; ++k) {
            for (int64_t i = 0; i < split.inner; ++i)
                x[split.at(o, k, i)] = f(x[split.at(o, k - 1, i)], x[split.at(o, k, i)]);
        }
    }
    store(out, x);
}

template <typename F>
void scan(const Call& call, int64_t dim, F f) {
    if (is_float(call.output().dtype)) scan_as<double>(call, dim, f);
    else scan_as<int64_t>(call, dim, f);
}

void cumsum(const Call& call) {
    scan(call, call.integer("dim"), [](auto before, auto x) { return before + x; });
}

void cumprod(const Call& call) {
    scan(call, value_of<int64_t>(call.scalar("dim")), [](auto before, auto x) { return before * x; });
}

void softmax(const Call& call, bool logarithm) {
    const Tensor& out = call.output();
    auto x = load<double>(call.tensor("self"));
    const Split split(out.shape, call.integer("dim"));
    for (int64_t o = 0; o < split.outer; ++o) {
        for (int64_t i = 0; i < split.inner; ++i) {
            double high = -kInfinity, total = 0;
            for (int64_t k = 0; k < split.length; ++k) high = std::max(high, x[split.at(o, k, i)]);
            for (int64_t k = 0; k < split.length; ++k) total += std::exp(x[split.at(o, k, i)] - high);
            for (int64_t k = 0; k < split.length; ++k) {
                double& value = x[split.at(o, k, i)];
                value = logarithm ? value - high - std::log(total) : std::exp(value - high) / total;
            }
        }
    }
    store(out, x);
}

}  // namespace

void register_reduce(Registry& registry) {
    registry.add("ReduceSum", exact_reduction([](auto begin, auto end) { return sum(begin, end); }));
    registry.add("ReduceNansum", real_reduction([](const double* begin, const double* end) {
                     return std::accumulate(begin, end, 0.0,
                                            [](double a, double b) { return std::isnan(b) ? a : a + b; });
                 }));
    registry.add("Mean", real_reduction(mean));
    for (const char* name : {"Prod", "ProdDim"}) {
        registry.add(name, exact_reduction([](auto begin, auto end) { return product(begin, end); }));
    }
    for (const char* name : {"Max", "Amax"}) {
        registry.add(name, exact_reduction([](auto begin, auto end) { return greatest(begin, end); }));
    }
    for (const char* name : {"Min", "Amin"}) {
        registry.add(name, exact_reduction([](auto begin, auto end) { return least(begin, end); }));
    }
    registry.add("ArgMax", real_reduction(arg_max<double>));
    registry.add("ArgMin", real_reduction(arg_min<double>));
    registry.add("MaxDim", max_dim);
    registry.add("MinDim", min_dim);
    for (const char* name : {"Aminmax", "AminmaxDim", "AminmaxAll"}) registry.add(name, extremes);
    registry.add("Any", real_reduction([](const double* begin, const double* end) -> int64_t {
                     return std::any_of(begin, end, [](double x) { return x != 0; });
                 }));
    registry.add("All", real_reduction([](const double* begin, const double* end) -> int64_t {
                     return std::all_of(begin, end, [](double x) { return x != 0; });
                 }));
    registry.add("Norm", norm_with);
    registry.add("LinalgVectorNorm", norm_with);
    registry.add("VarCorrection", spread(false));
    registry.add("VarMean", spread(false));
    registry.add("Std", spread(true));
    registry.add("StdMeanCorrection", spread(true));
    registry.add("LogSumExp", real_reduction(log_sum_exp));
    registry.add("Cumsum", cumsum);
    registry.add("Cumprod", cumprod);
    registry.add("Softmax", [](const Call& call) { softmax(call, false); });
    registry.add("LogSoftmax", [](const Call& call) { softmax(call, true); });
}

}  // namespace npusim
