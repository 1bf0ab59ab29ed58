// Routing of a mixture of experts on one device.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "array.h"
#include "kernel.h"

namespace npusim {

namespace {

// Softmax over the experts, then the k greatest.
void gating_softmax(const Call& call) {
    auto x = load<double>(call.tensor("x"));
    const int64_t experts = x.shape.back(), k = call.integer("k"), tokens = x.size() / experts;
    std::vector<double> weights;
    std::vector<int64_t> chosen, rows;
    for (int64_t t = 0; t < tokens; ++t) {
        double* line = &x[t * experts];
        const double high = *std::max_element(line, line + experts);
        double total = 0;
        for (int64_t e = 0; e < experts; ++e) total += line[e] = std::exp(line[e] - high);
        std::vector<int64_t> order(experts);
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [line](int64_t a, int64_t b) { return line[a] > line[b]; });
        for (int64_t i = 0; i < k; ++i) {
            weights.push_back(line[order[i]] / total);
            chosen.push_back(order[i]);
            rows.push_back(i * tokens + t);
        }
    }
    store(call.tensor("out"), weights);
    store(call.tensor("experts"), chosen);
    store(call.tensor("rows"), rows);
}

// Copies each token once for each of its experts, sorted by expert.
void permute(const Call& call) {
    const auto x = load<double>(call.tensor("tokens"));
    const auto experts = load<int64_t>(call.tensor("indices"));
    const int64_t width = x.shape.back(), copies = experts.size() / x.shape[0];
    std::vector<int64_t> order(experts.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return experts[a] < experts[b]; });
    const int64_t kept = call.tensor("out").shape[0];
    std::vector<double> out;
    std::vector<int64_t> where(experts.size());
    for (size_t p = 0; p < order.size(); ++p) {
        const auto begin = x.values.begin() + order[p] / copies * width;
        if (static_cast<int64_t>(p) < kept) out.insert(out.end(), begin, begin + width);
        where[order[p]] = static_cast<int64_t>(p);
    }
    store(call.tensor("out"), out);
    store(call.tensor("sorted"), where);
}

// Adds up the copies of each token, weighted.
void unpermute(const Call& call) {
    const auto x = load<double>(call.tensor("tokens"));
    const auto where = load<int64_t>(call.tensor("sorted"));
    const Tensor& out = call.tensor("out");
    const int64_t width = x.shape.back(), copies = where.size() / out.shape[0];
    const bool weighted = call.has("weights") && call.tensor("weights").numel() > 0;
    const auto weights = weighted ? load<double>(call.tensor("weights")).values : std::vector<double>(where.size(), 1);
    Array<double> sum(out.shape);
    for (int64_t i = 0; i < where.size(); ++i) {
        if (where[i] < 0 || where[i] >= x.shape[0]) continue;
        for (int64_t d = 0; d < width; ++d) sum[i / copies * width + d] += weights[i] * x[where[i] * width + d];
    }
    store(out, sum);
}

}  // namespace

void register_moe(Registry& registry) {
    registry.add("MoeGatingTopKSoftmax", gating_softmax);
    registry.add("MoeTokenPermute", permute);
    registry.add("MoeTokenUnpermute", unpermute);
}

}  // namespace npusim
