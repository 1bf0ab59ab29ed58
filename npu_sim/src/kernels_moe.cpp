// Routing of a mixture of experts on one device.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "array.h"
#include "kernel.h"

namespace npusim {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Positions from the greatest value to the least; equal ones keep their order.
std::vector<int64_t> descending(const std::vector<double>& values) {
    std::vector<int64_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return values[a] > values[b]; });
    return order;
}

// The `kept` groups of experts with the greatest maximum (mode 0) or sum of the two greatest (mode 1).
std::vector<int64_t> best_groups(const std::vector<double>& ranked, int64_t groups, int64_t kept, int64_t mode) {
    const int64_t width = static_cast<int64_t>(ranked.size()) / groups;
    std::vector<double> totals;
    for (int64_t g = 0; g < groups; ++g) {
        std::vector<double> group(ranked.begin() + g * width, ranked.begin() + (g + 1) * width);
        const auto order = descending(group);
        totals.push_back(group[order[0]] + (mode == 1 && width > 1 ? group[order[1]] : 0));
    }
    auto order = descending(totals);
    order.resize(kept);
    return order;
}

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
        const auto order = descending({line, line + experts});
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

// Sigmoid or softmax scores, the k greatest with the bias added, of the whole or of the best groups; as DeepSeek V3
// routes.
void gating(const Call& call) {
    auto x = load<double>(call.tensor("x"));
    const int64_t experts = x.shape.back(), k = call.integer("k"), groups = call.integer("groups");
    const int64_t kept_groups = call.integer("group_k"), width = experts / groups;
    const bool sigmoid = call.integer("norm") == 1;
    const auto bias = call.has("bias") ? load<double>(call.tensor("bias")).values : std::vector<double>(experts, 0);
    std::vector<double> weights, all;
    std::vector<int64_t> chosen;
    for (int64_t row = 0; row < x.size(); row += experts) {
        std::vector<double> scores(x.values.begin() + row, x.values.begin() + row + experts);
        const double high = *std::max_element(scores.begin(), scores.end());
        double total = 0;
        for (double& score : scores) total += score = sigmoid ? 1 / (1 + std::exp(-score)) : std::exp(score - high);
        for (double& score : scores) score = sigmoid ? score : score / total;
        std::vector<double> ranked(experts);
        for (int64_t e = 0; e < experts; ++e) ranked[e] = scores[e] + bias[e];
        const auto first = best_groups(ranked, groups, kept_groups, call.integer("group_mode"));
        for (int64_t e = 0; e < experts; ++e) {
            if (std::find(first.begin(), first.end(), e / width) == first.end()) ranked[e] = -kInfinity;
        }
        const auto order = descending(ranked);
        double sum = call.real("eps");
        for (int64_t i = 0; i < k; ++i) sum += scores[order[i]];
        for (int64_t i = 0; i < k; ++i) {
            weights.push_back(scores[order[i]] / (sigmoid ? sum : 1) * call.real("factor"));
            chosen.push_back(order[i]);
        }
        all.insert(all.end(), scores.begin(), scores.end());
    }
    store(call.tensor("out"), weights);
    store(call.tensor("experts"), chosen);
    if (call.integer("keep_all") != 0) store(call.tensor("all"), all);
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
    registry.add("MoeGatingTopK", gating);
    registry.add("MoeTokenPermute", permute);
    registry.add("MoeTokenUnpermute", unpermute);
}

}  // namespace npusim
