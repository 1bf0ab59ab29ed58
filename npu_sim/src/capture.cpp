#include "capture.h"

#include <algorithm>

namespace npusim {

Graph::Progress& Graph::advance(int stream) {
    Progress& progress = streams_[stream];
    progress.seen[stream] = ++progress.tasks;
    return progress;
}

void Graph::add_launch(int stream, std::string name, std::function<void()> work, const std::vector<Access>& accesses) {
    advance(stream);
    for (const Access& access : accesses) note(access);
    tasks_.push_back({stream, std::move(name), std::move(work), -1, -1, nodes_++});
}

int Graph::add_record(int stream) {
    const int record = static_cast<int>(records_.size());
    records_.push_back(advance(stream).seen);
    tasks_.push_back({stream, "record", {}, -1, record});
    return record;
}

void Graph::add_wait(int stream, int record) {
    Clock& seen = advance(stream).seen;
    for (const auto& [other, tasks] : records_[record]) seen[other] = std::max(seen[other], tasks);
    tasks_.push_back({stream, "wait", {}, record, -1});
}

std::vector<int> Graph::unjoined() const {
    std::vector<int> out;
    const Clock& end = streams_.at(origin_).seen;
    for (const auto& [stream, progress] : streams_) {
        const auto seen = end.find(stream);
        if (progress.tasks > (seen == end.end() ? 0 : seen->second)) out.push_back(stream);
    }
    return out;
}

void Graph::note(const Access& access) {
    char* begin = access.range.begin;
    char* end = access.range.end();
    if (begin == end) return;
    auto next = touched_.upper_bound(begin);
    if (next != touched_.begin() && std::prev(next)->second > begin) --next;
    const bool fresh = next == touched_.end() || next->first >= end;
    if (fresh && access.overwrites) written_first_.push_back(access.range);
    while (next != touched_.end() && next->first < end) {
        begin = std::min(begin, next->first);
        end = std::max(end, next->second);
        next = touched_.erase(next);
    }
    touched_[begin] = end;
}

void Graph::replay(Scheduler& scheduler, Lane& lane) const {
    scheduler.submit(lane,
                     {"poison", [ranges = written_first_] { std::for_each(ranges.begin(), ranges.end(), poison); }});
    std::map<int, Lane*> lanes{{origin_, &lane}};
    std::vector<TicketPtr> tickets(records_.size());
    for (const CapturedTask& captured : tasks_) {
        Lane*& target = lanes[captured.stream];
        if (target == nullptr) target = &scheduler.open(lane.rank == 0 ? 1 : 2, true);
        Task task{captured.name, captured.work};
        task.node = captured.node;
        if (captured.awaits >= 0) task.awaits = tickets[captured.awaits];
        if (captured.signals >= 0) task.signals = tickets[captured.signals] = std::make_shared<Ticket>();
        scheduler.submit(*target, std::move(task));
    }
}

}  // namespace npusim
