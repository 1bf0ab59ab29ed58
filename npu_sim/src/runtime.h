// The simulated device: its streams, events, memory, captures, core limits, log and pending error.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "acl/acl.h"
#include "capture.h"
#include "log.h"
#include "memory.h"
#include "scheduler.h"

namespace npusim {

// Numbers of cube (aic) and vector (aiv) cores that an operator may use.
struct Cores {
    uint32_t aic;
    uint32_t aiv;
};

// How a host that only asks whether something is done gets on.
struct Polling {
    uint64_t submissions = 0;  // when it was last asked
    int in_vain = 0;           // times since the host last issued anything
};

struct Stream {
    int id;
    Lane* lane;
    Cores cores;
    std::shared_ptr<Graph> graph;  // the capture that the stream takes part in
    uint32_t priority = 0;
    Polling polling = {};
};

struct Event {
    int id;
    TicketPtr ticket;            // the last record outside of captures; null when never recorded
    std::weak_ptr<Graph> graph;  // the capture that it was last recorded in
    int record = -1;             // number of that record
    Polling polling;
};

// A launch as the log and the graph see it.
struct Launch {
    std::string name;
    std::function<void()> work;
    std::vector<Access> accesses;
};

class Runtime {
public:
    // Every entry point of the library takes this lock first.
    std::recursive_mutex mutex;

    Scheduler scheduler;
    Memory memory;
    LaunchLog log;

    // Device. -1: none is set.
    int device = -1;
    Cores hardware;
    Cores device_limit;

    Runtime();

    Stream* create_stream(uint32_t priority);
    void destroy_stream(Stream* stream);
    // The handle's stream; the null handle is the device's default stream. nullptr for a handle that is not alive.
    Stream* stream(aclrtStream handle);

    Event* create_event();
    void destroy_event(Event* event);
    Event* event(aclrtEvent handle);

    // Sends work to a stream, or to the graph that captures it. Returns the launch's number within the graph or,
    // outside of captures, since the stream order was set.
    int launch(Stream& stream, Launch launch);
    void record(Stream& stream, Event& event);
    void wait(Stream& stream, Event& event);

    std::shared_ptr<Graph> begin_capture(Stream& stream);
    // Takes every stream out of the capture.
    void end_capture(Graph& graph);
    void restart_nodes() { eager_nodes_ = 0; }

    // Remembers that something went wrong on the device. Host syncs return it until it is cleared.
    void fail(aclError code, const std::string& message);
    void clear_error();
    aclError error() const { return error_; }
    const std::string& error_message() const { return error_message_; }

private:
    std::unordered_map<void*, std::unique_ptr<Stream>> streams_;
    std::unordered_map<void*, std::unique_ptr<Event>> events_;
    Stream* default_stream_ = nullptr;
    int next_stream_ = 0;
    int next_event_ = 0;
    int next_graph_ = 0;
    int eager_nodes_ = 0;
    aclError error_ = ACL_SUCCESS;
    std::string error_message_;
};

// The one device of the process.
Runtime& runtime();

// Makes `message` what aclGetRecentErrMsg gives to this thread, and returns the code.
aclError refuse(aclError code, const std::string& message);
const char* recent_message();

// Runs until `finish()` returns, and turns a deadlock or a failed task into the error code of the sync.
template <typename Finish>
aclError synchronize(Finish finish) {
    try {
        finish();
    } catch (const Deadlock& deadlock) {
        return refuse(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, deadlock.what());
    }
    Runtime& device = runtime();
    return device.error() == ACL_SUCCESS ? ACL_SUCCESS : refuse(device.error(), device.error_message());
}

}  // namespace npusim
