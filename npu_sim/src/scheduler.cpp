#include "scheduler.h"

namespace npusim {

Scheduler::Scheduler() : order_(make_order("serial")) {}

Lane& Scheduler::open(int rank, bool transient) {
    auto lane = std::make_unique<Lane>();
    lane->id = next_lane_++;
    lane->rank = rank;
    lane->transient = transient;
    return *(lanes_[lane->id] = std::move(lane));
}

void Scheduler::close(Lane& lane) { lanes_.erase(lane.id); }

void Scheduler::submit(Lane& lane, Task task) {
    ++lane.submitted;
    if (task.signals) {
        task.signals->lane = lane.id;
        task.signals->position = lane.submitted;
    }
    lane.queue.push_back({std::move(task), issued_++});
}

void Scheduler::finish(Lane& lane) { drive({&lane, lane.submitted}); }

void Scheduler::finish(const Ticket& ticket) {
    const auto lane = lanes_.find(ticket.lane);
    if (!ticket.done && lane != lanes_.end()) drive({lane->second.get(), ticket.position});
}

void Scheduler::finish_all() {
    while (!idle()) {
        for (const auto& [id, lane] : lanes_) {
            if (lane->queue.empty()) continue;
            finish(*lane);
            break;  // the map may have changed
        }
    }
}

bool Scheduler::idle() const {
    for (const auto& [id, lane] : lanes_) {
        if (!lane->queue.empty()) return false;
    }
    return true;
}

void Scheduler::drive(const Goal& goal) {
    const int id = goal.lane->id;
    while (lanes_.count(id) != 0 && !goal.reached()) {
        Lane* lane = order_->next(lanes_, goal);
        if (lane == nullptr) {
            throw Deadlock("deadlock: no stream can run, and " + std::to_string(goal.position - goal.lane->done) +
                           " tasks that the host waits for are still pending");
        }
        step(*lane);
    }
}

void Scheduler::step(Lane& lane) {
    Task task = std::move(lane.queue.front().task);
    lane.queue.pop_front();
    ++lane.done;
    if (task.work) task.work();
    if (task.signals) task.signals->done = true;
    if (lane.transient && lane.queue.empty()) close(lane);
}

}  // namespace npusim
