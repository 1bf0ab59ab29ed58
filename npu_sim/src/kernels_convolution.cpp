// Convolutions over any number of spatial dimensions.
#include <algorithm>

#include "kernel.h"
#include "matmul.h"

namespace npusim {

namespace {

// Advances a multi-index over `shape`; false after the last.
bool advance(Shape& index, const Shape& shape) {
    for (int64_t d = static_cast<int64_t>(shape.size()) - 1; d >= 0; --d) {
        if (++index[d] < shape[d]) return true;
        index[d] = 0;
    }
    return false;
}

Shape spatial(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

struct Geometry {
    std::vector<int64_t> stride, padding, dilation;
    int64_t groups;
};

// Position in the input that output `at` sees through kernel element `tap`, or -1 in the padding.
int64_t source_position(const Shape& at, const Shape& tap, const Shape& input, const Geometry& geometry) {
    int64_t position = 0;
    for (size_t d = 0; d < at.size(); ++d) {
        const int64_t x = at[d] * geometry.stride[d] + tap[d] * geometry.dilation[d] - geometry.padding[d];
        if (x < 0 || x >= input[d]) return -1;
        position = position * input[d] + x;
    }
    return position;
}

// The input values under each kernel element, for every output position: (channels * kernel elements, positions).
Array<double> columns_of(const double* x, int64_t channels, const Shape& in, const Shape& kernel, const Shape& out,
                         const Geometry& geometry) {
    const int64_t in_size = count(in), kernel_size = count(kernel), out_size = count(out);
    Array<double> columns({channels * kernel_size, out_size});
    Shape at(out.size(), 0);
    for (int64_t p = 0; p < out_size; ++p, advance(at, out)) {
        Shape tap(kernel.size(), 0);
        for (int64_t t = 0; t < kernel_size; ++t, advance(tap, kernel)) {
            const int64_t source = source_position(at, tap, in, geometry);
            if (source < 0) continue;
            for (int64_t c = 0; c < channels; ++c)
                columns[(c * kernel_size + t) * out_size + p] = x[c * in_size + source];
        }
    }
    return columns;
}

Array<double> convolve(const Array<double>& x, const Array<double>& weight, const Shape& out_shape,
                       const Geometry& geometry) {
    const Shape in = spatial(x.shape), out = spatial(out_shape), kernel = spatial(weight.shape);
    const int64_t channels = weight.shape[1], group_outputs = out_shape[1] / geometry.groups;
    const int64_t taps = channels * count(kernel);
    Array<double> result(out_shape);
    auto next = result.values.begin();
    for (int64_t n = 0; n < x.shape[0]; ++n) {
        for (int64_t g = 0; g < geometry.groups; ++g) {
            const double* planes = &x.values[(n * x.shape[1] + g * channels) * count(in)];
            Array<double> part({group_outputs, taps});
            std::copy_n(weight.values.begin() + g * group_outputs * taps, group_outputs * taps, part.values.begin());
            const auto product = matmul(part, columns_of(planes, channels, in, kernel, out, geometry));
            next = std::copy(product.values.begin(), product.values.end(), next);
        }
    }
    return result;
}

// The gradient of a convolution towards its input: each input element is spread over the outputs that saw it.
Array<double> convolve_transposed(const Array<double>& x, const Array<double>& weight, const Shape& out_shape,
                                  const Geometry& geometry) {
    const Shape in = spatial(x.shape), out = spatial(out_shape), kernel = spatial(weight.shape);
    const int64_t in_size = count(in), out_size = count(out), kernel_size = count(kernel);
    const int64_t in_channels = x.shape[1], channels = weight.shape[1], out_channels = out_shape[1];
    Array<double> result(out_shape);
    Shape at(in.size(), 0);
    for (int64_t p = 0; p < in_size; ++p, advance(at, in)) {
        Shape tap(kernel.size(), 0);
        for (int64_t t = 0; t < kernel_size; ++t, advance(tap, kernel)) {
            const int64_t target = source_position(at, tap, out, geometry);
            if (target < 0) continue;
            for (int64_t n = 0; n < x.shape[0]; ++n) {
                for (int64_t i = 0; i < in_channels; ++i) {
                    const int64_t first = i / (in_channels / geometry.groups) * channels;
                    for (int64_t c = 0; c < channels; ++c) {
                        result[(n * out_channels + first + c) * out_size + target] +=
                            x[(n * in_channels + i) * in_size + p] * weight[(i * channels + c) * kernel_size + t];
                    }
                }
            }
        }
    }
    return result;
}

void add_bias(const Call& call, Array<double>& result) {
    if (!call.has("bias")) return;
    const auto bias = load<double>(call.tensor("bias"));
    const int64_t positions = result.size() / result.shape[0] / result.shape[1];
    for (int64_t i = 0; i < result.size(); ++i) result[i] += bias[i / positions % result.shape[1]];
}

void convolution(const Call& call) {
    const auto x = load<double>(call.tensor("input")), weight = load<double>(call.tensor("weight"));
    const Shape& shape = call.output().shape;
    if (x.shape.size() != shape.size() || weight.shape.size() != shape.size())
        throw UnsupportedCall(call.op() + ": without a batch");
    const Geometry geometry{call.ints("stride"), call.ints("padding"), call.ints("dilation"), call.integer("groups")};
    auto result = call.integer("transposed") != 0 ? convolve_transposed(x, weight, shape, geometry)
                                                  : convolve(x, weight, shape, geometry);
    add_bias(call, result);
    store(call.output(), result);
}

void depthwise(const Call& call) {
    const auto x = load<double>(call.tensor("input")), weight = load<double>(call.tensor("weight"));
    const Geometry geometry{call.ints("stride"), call.ints("padding"), call.ints("dilation"), x.shape[1]};
    auto result = convolve(x, weight, call.output().shape, geometry);
    add_bias(call, result);
    store(call.output(), result);
}

}  // namespace

void register_convolution(Registry& registry) {
    registry.add("Convolution", convolution);
    registry.add("ConvDepthwise2d", depthwise);
}

}  // namespace npusim
