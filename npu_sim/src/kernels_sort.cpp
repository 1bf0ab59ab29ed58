// Order: sort, top k, search in sorted sequences.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "array.h"
#include "kernel.h"

namespace npusim {

namespace {

// Orders positions by value; NaN counts as the greatest. Equal values keep their order.
std::vector<int64_t> order_of(const std::vector<double>& values, bool descending) {
    std::vector<int64_t> positions(values.size());
    std::iota(positions.begin(), positions.end(), 0);
    const auto less = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
    std::stable_sort(positions.begin(), positions.end(), [&](int64_t a, int64_t b) {
        return descending ? less(values[b], values[a]) : less(values[a], values[b]);
    });
    return positions;
}

// The first `k` of each line along the dimension, in order.
void take_first(const Call& call, int64_t dim, int64_t k, bool descending) {
    const Tensor& self = call.tensor("self");
    const Tensor& out = call.tensor("values");
    const auto x = load<double>(self);
    const Split from(self.shape, dim), to(out.shape, dim);
    std::vector<double> values(out.numel());
    std::vector<int64_t> indices(out.numel());
    std::vector<double> line(from.length);
    for (int64_t o = 0; o < from.outer; ++o) {
        for (int64_t i = 0; i < from.inner; ++i) {
            for (int64_t p = 0; p < from.length; ++p) line[p] = x[from.at(o, p, i)];
            const auto order = order_of(line, descending);
            for (int64_t p = 0; p < k; ++p) {
                values[to.at(o, p, i)] = line[order[p]];
                indices[to.at(o, p, i)] = order[p];
            }
        }
    }
    store(out, values);
    store(call.tensor("indices"), indices);
}

void topk(const Call& call) { take_first(call, call.integer("dim"), call.integer("k"), call.integer("largest") != 0); }

void sort(const Call& call) {
    const Split split(call.tensor("self").shape, call.integer("dim"));
    take_first(call, call.integer("dim"), split.length, call.integer("descending") != 0);
}

void search(const Call& call, const Tensor& boundaries, const Array<double>& values) {
    const auto sorted = load<double>(boundaries);
    const bool right = call.integer("right") != 0;
    const int64_t width = boundaries.shape.back();
    const int64_t lines = sorted.size() / width;
    Array<int64_t> out(call.output().shape);
    for (int64_t i = 0; i < values.size(); ++i) {
        const int64_t line = lines == 1 ? 0 : i / (values.size() / lines);
        const auto begin = sorted.values.begin() + line * width;
        out[i] = (right ? std::upper_bound(begin, begin + width, values[i])
                        : std::lower_bound(begin, begin + width, values[i])) -
                 begin;
    }
    store(call.output(), out);
}

void search_sorted(const Call& call) { search(call, call.tensor("sorted"), load<double>(call.tensor("self"))); }
void bucketize(const Call& call) { search(call, call.tensor("boundaries"), load<double>(call.tensor("self"))); }

void bincount(const Call& call) {
    const auto x = load<int64_t>(call.tensor("self"));
    Array<double> out(call.output().shape);
    for (int64_t i = 0; i < x.size(); ++i) {
        if (x[i] < 0 || x[i] >= out.size()) throw UnsupportedCall("Bincount: a value is outside of the output");
        out[x[i]] += call.has("weights") ? load<double>(call.tensor("weights"))[i] : 1;
    }
    store(call.output(), out);
}

void histogram(const Call& call) {
    const auto x = load<double>(call.tensor("self"));
    double low = value_of<double>(call.scalar("min")), high = value_of<double>(call.scalar("max"));
    if (low == high && x.size() > 0) {
        low = *std::min_element(x.values.begin(), x.values.end());
        high = *std::max_element(x.values.begin(), x.values.end());
    }
    if (low == high) {
        low -= 1;
        high += 1;
    }
    const int64_t bins = call.integer("bins");
    Array<double> out(call.output().shape);
    for (const double value : x.values) {
        if (value < low || value > high) continue;
        ++out[std::min<int64_t>(static_cast<int64_t>((value - low) / (high - low) * static_cast<double>(bins)),
                                bins - 1)];
    }
    store(call.output(), out);
}

}  // namespace

void register_sort(Registry& registry) {
    registry.add("Topk", topk);
    registry.add("TopkV2", topk);
    registry.add("Sort", sort);
    registry.add("SearchSorted", search_sorted);
    registry.add("Bucketize", bucketize);
    registry.add("Bincount", bincount);
    registry.add("Histc", histogram);
}

}  // namespace npusim
