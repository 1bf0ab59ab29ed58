// The orders in which pending tasks may run. Each is legal: a lane runs front to back, a wait is honoured.
#include <algorithm>
#include <random>
#include <vector>

#include "scheduler.h"

namespace npusim {

namespace {

bool issued_earlier(const Lane* a, const Lane* b) { return a->queue.front().issued < b->queue.front().issued; }

std::vector<Lane*> runnable(const Lanes& lanes) {
    std::vector<Lane*> out;
    for (const auto& [id, lane] : lanes) {
        if (lane->runnable()) out.push_back(lane.get());
    }
    return out;
}

// The lane that must run next so that `lane` gets further: follows unfinished waits to the streams that record them.
Lane* demanded(const Lanes& lanes, const Lane& lane) {
    const Lane* current = &lane;
    for (size_t hops = 0; hops <= lanes.size(); ++hops) {
        if (current->queue.empty()) return nullptr;
        const auto found = lanes.find(current->id);
        if (current->runnable()) return found->second.get();
        const auto blocker = lanes.find(current->queue.front().task.awaits->lane);
        if (blocker == lanes.end()) return nullptr;
        current = blocker->second.get();
    }
    return nullptr;  // streams wait for each other in a circle
}

// The order in which the host issued the tasks. A wait is issued after its record, so this one never blocks.
class Serial : public Order {
public:
    Lane* next(const Lanes& lanes, const Goal&) override {
        const auto heads = runnable(lanes);
        return heads.empty() ? nullptr : *std::min_element(heads.begin(), heads.end(), issued_earlier);
    }
};

// Side streams run as early as their waits allow.
class SideFirst : public Order {
public:
    Lane* next(const Lanes& lanes, const Goal&) override {
        const auto heads = runnable(lanes);
        const auto higher = [](const Lane* a, const Lane* b) { return a->rank > b->rank; };
        return heads.empty() ? nullptr : *std::min_element(heads.begin(), heads.end(), higher);
    }
};

// Side streams run as late as possible: only when the default stream or the host waits for them.
class SideLast : public Order {
public:
    Lane* next(const Lanes& lanes, const Goal& goal) override {
        for (const auto& [id, lane] : lanes) {
            if (lane->rank == 0 && lane->runnable()) return lane.get();
        }
        return demanded(lanes, *goal.lane);
    }
};

// Lanes have random priorities that are drawn anew now and then, so that bursts of one stream occur.
class Random : public Order {
public:
    explicit Random(uint64_t seed) : engine_(seed) {}

    Lane* next(const Lanes& lanes, const Goal&) override {
        const auto heads = runnable(lanes);
        if (heads.empty()) return nullptr;
        if (engine_() % kMeanBurst == 0) salt_ = engine_();
        const auto priority = [this](const Lane* lane) { return std::mt19937_64(salt_ + lane->id)(); };
        return *std::max_element(heads.begin(), heads.end(),
                                 [&](const Lane* a, const Lane* b) { return priority(a) < priority(b); });
    }

private:
    static constexpr uint64_t kMeanBurst = 3;
    std::mt19937_64 engine_;
    uint64_t salt_ = 0;
};

// The ancestors of one launch, and the launch, before anything else; then as issued.
class Before : public Order {
public:
    explicit Before(int node) : node_(node) {}

    Lane* next(const Lanes& lanes, const Goal& goal) override {
        for (const auto& [id, lane] : lanes) {
            const auto is_node = [this](const Lane::Entry& entry) { return entry.task.node == node_; };
            if (std::none_of(lane->queue.begin(), lane->queue.end(), is_node)) continue;
            if (Lane* next = demanded(lanes, *lane)) return next;
        }
        return serial_.next(lanes, goal);
    }

private:
    int node_;
    Serial serial_;
};

// One launch, and with it what follows on its stream, only when nothing else can run; the rest as issued.
class After : public Order {
public:
    explicit After(int node) : node_(node) {}

    Lane* next(const Lanes& lanes, const Goal&) override {
        Lane* best = nullptr;
        Lane* held_back = nullptr;
        for (Lane* lane : runnable(lanes)) {
            Lane*& slot = lane->queue.front().task.node == node_ ? held_back : best;
            if (slot == nullptr || issued_earlier(lane, slot)) slot = lane;
        }
        return best != nullptr ? best : held_back;
    }

private:
    int node_;
};

}  // namespace

std::unique_ptr<Order> make_order(const std::string& text) {
    const size_t colon = text.find(':');
    const std::string kind = text.substr(0, colon);
    if (colon == std::string::npos) {
        if (kind == "serial") return std::make_unique<Serial>();
        if (kind == "side_first") return std::make_unique<SideFirst>();
        if (kind == "side_last") return std::make_unique<SideLast>();
        return nullptr;
    }
    const std::string digits = text.substr(colon + 1);
    if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos)
        return nullptr;
    const int number = std::stoi(digits);
    if (kind == "random") return std::make_unique<Random>(number);
    if (kind == "before") return std::make_unique<Before>(number);
    if (kind == "after") return std::make_unique<After>(number);
    return nullptr;
}

}  // namespace npusim
