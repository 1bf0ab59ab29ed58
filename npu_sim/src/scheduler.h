// Executes the tasks of all streams, lazily, in an order that a policy chooses among the legal ones.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "task.h"

namespace npusim {

// A FIFO of tasks. Each stream has one; a replay adds one for each side stream of its graph.
struct Lane {
    struct Entry {
        Task task;
        uint64_t issued = 0;  // host order over all lanes
    };

    int id = 0;
    int rank = 0;            // 0 the device's default stream, 1 other streams, 2 side streams inside a replay
    bool transient = false;  // forgotten once it is empty
    uint64_t submitted = 0;
    uint64_t done = 0;
    std::deque<Entry> queue;

    // Whether the next task's wait, if it has one, is over.
    bool runnable() const { return !queue.empty() && (!queue.front().task.awaits || queue.front().task.awaits->done); }
};

using Lanes = std::map<int, std::unique_ptr<Lane>>;

// Where a host sync wants to get to: the first `position` tasks of a lane have run.
struct Goal {
    const Lane* lane;
    uint64_t position;
    bool reached() const { return lane->done >= position; }
};

// Chooses the lane that runs next. Returns nullptr when no lane is runnable.
class Order {
public:
    virtual ~Order() = default;
    virtual Lane* next(const Lanes& lanes, const Goal& goal) = 0;
};

// "serial", "side_first", "side_last", "random:SEED", "before:NODE", "after:NODE"; nullptr for any other text.
std::unique_ptr<Order> make_order(const std::string& text);

struct Deadlock : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class Scheduler {
public:
    Scheduler();

    Lane& open(int rank, bool transient = false);
    void close(Lane& lane);  // the lane must be empty
    void submit(Lane& lane, Task task);

    void finish(Lane& lane);
    void finish(const Ticket& ticket);
    void finish_all();

    void set_order(std::unique_ptr<Order> order) { order_ = std::move(order); }
    uint64_t submissions() const { return issued_; }
    bool idle() const;

private:
    void drive(const Goal& goal);
    void step(Lane& lane);

    Lanes lanes_;
    std::unique_ptr<Order> order_;
    int next_lane_ = 0;
    uint64_t issued_ = 0;
};

}  // namespace npusim
