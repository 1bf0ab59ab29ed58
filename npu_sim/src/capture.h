// A graph: what was launched while its streams were captured, to be replayed any number of times.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "memory.h"
#include "scheduler.h"
#include "task.h"

namespace npusim {

// Memory that a task touches. `overwrites`: every byte of the range gets a new value that depends on none of the old.
struct Access {
    Range range;
    bool overwrites = false;
};

struct CapturedTask {
    int stream = 0;
    std::string name;
    std::function<void()> work;
    int awaits = -1;   // number of the record waited for
    int signals = -1;  // number of the record made
    int node = -1;
};

class Graph {
public:
    Graph(int id, int origin) : id_(id), origin_(origin) { streams_[origin] = {}; }

    bool capturing = true;

    int id() const { return id_; }
    int origin() const { return origin_; }
    bool has(int stream) const { return streams_.count(stream) != 0; }
    const std::vector<CapturedTask>& tasks() const { return tasks_; }

    // Number of the next launch, for logs and for directed orders.
    int next_node() const { return nodes_; }

    void add_launch(int stream, std::string name, std::function<void()> work, const std::vector<Access>& accesses);
    int add_record(int stream);
    // Also takes a stream that was not yet captured into the capture.
    void add_wait(int stream, int record);

    // The streams whose last task the end of the origin stream does not follow.
    std::vector<int> unjoined() const;

    // Issues one run: the origin's tasks to `lane`, those of each side stream to a lane of its own. Starts by poisoning
    // what the graph writes before it reads, so that no stale value of an earlier run hides a missing sync.
    void replay(Scheduler& scheduler, Lane& lane) const;

private:
    // How far each stream had come, in tasks, as seen from one point.
    using Clock = std::map<int, int>;
    struct Progress {
        Clock seen;
        int tasks = 0;
    };

    void note(const Access& access);
    Progress& advance(int stream);

    int id_;
    int origin_;
    int nodes_ = 0;
    std::vector<CapturedTask> tasks_;
    std::map<int, Progress> streams_;
    std::vector<Clock> records_;
    std::map<char*, char*> touched_;  // disjoint ranges, begin to end
    std::vector<Range> written_first_;
};

}  // namespace npusim
