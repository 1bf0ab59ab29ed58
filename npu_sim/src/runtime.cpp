#include "runtime.h"

#include <cstdio>
#include <cstdlib>

namespace npusim {

namespace {

uint32_t number_from_environment(const char* name, uint32_t fallback) {
    const char* text = std::getenv(name);
    const int number = text == nullptr ? 0 : std::atoi(text);
    return number > 0 ? static_cast<uint32_t>(number) : fallback;
}

std::unique_ptr<Order> order_from_environment(const char* text) {
    auto order = make_order(text);
    if (order) return order;
    std::fprintf(stderr, "npusim: NPUSIM_ORDER names no stream order: %s\n", text);
    std::exit(2);
}

thread_local std::string thread_message;

}  // namespace

Runtime& runtime() {
    // Never destroyed: the wheel still calls the library while the process ends.
    static Runtime* const instance = new Runtime;
    return *instance;
}

aclError refuse(aclError code, const std::string& message) {
    thread_message = message;
    return code;
}

const char* recent_message() { return thread_message.c_str(); }

Runtime::Runtime()
    : hardware{number_from_environment("NPUSIM_AIC", 24), number_from_environment("NPUSIM_AIV", 48)},
      device_limit(hardware) {
    default_stream_ = create_stream(0);
    if (const char* order = std::getenv("NPUSIM_ORDER")) scheduler.set_order(order_from_environment(order));
    if (const char* path = std::getenv("NPUSIM_LOG")) log.start(path);
}

Stream* Runtime::create_stream(uint32_t priority) {
    const int id = next_stream_++;
    auto stream = std::make_unique<Stream>(Stream{id, &scheduler.open(id <= 1 ? 0 : 1), hardware, nullptr, priority});
    Stream* handle = stream.get();
    streams_[handle] = std::move(stream);
    return handle;
}

void Runtime::destroy_stream(Stream* stream) {
    scheduler.finish(*stream->lane);
    scheduler.close(*stream->lane);
    streams_.erase(stream);
}

Stream* Runtime::stream(aclrtStream handle) {
    if (handle == nullptr) return default_stream_;
    const auto found = streams_.find(handle);
    return found == streams_.end() ? nullptr : found->second.get();
}

Event* Runtime::create_event() {
    auto event = std::make_unique<Event>();
    event->id = next_event_++;
    Event* handle = event.get();
    events_[handle] = std::move(event);
    return handle;
}

void Runtime::destroy_event(Event* event) { events_.erase(event); }

Event* Runtime::event(aclrtEvent handle) {
    const auto found = events_.find(handle);
    return found == events_.end() ? nullptr : found->second.get();
}

int Runtime::launch(Stream& stream, Launch launch) {
    if (stream.graph) {
        const int node = stream.graph->next_node();
        stream.graph->add_launch(stream.id, std::move(launch.name), std::move(launch.work), launch.accesses);
        return node;
    }
    Task task{std::move(launch.name), std::move(launch.work)};
    task.node = eager_nodes_++;
    const int node = task.node;
    scheduler.submit(*stream.lane, std::move(task));
    return node;
}

void Runtime::record(Stream& stream, Event& event) {
    JsonLine line;
    line.add("stream", stream.id).add("event", event.id);
    if (stream.graph) {
        event.ticket = nullptr;
        event.graph = stream.graph;
        event.record = stream.graph->add_record(stream.id);
        line.add("graph", stream.graph->id());
    } else {
        event.graph.reset();
        event.ticket = std::make_shared<Ticket>();
        Task task{"record", {}};
        task.signals = event.ticket;
        scheduler.submit(*stream.lane, std::move(task));
    }
    log.write("record", line);
}

void Runtime::wait(Stream& stream, Event& event) {
    JsonLine line;
    line.add("stream", stream.id).add("event", event.id);
    const auto graph = event.graph.lock();
    if (graph && graph->capturing && (!stream.graph || stream.graph == graph)) {
        graph->add_wait(stream.id, event.record);
        stream.graph = graph;
        line.add("graph", graph->id());
    } else if (stream.graph || graph) {
        if (stream.graph) line.add("graph", stream.graph->id());
        line.add("note", "not recorded in this capture: nothing is waited for");
    } else if (!event.ticket) {
        line.add("note", "never recorded: nothing is waited for");
    } else {
        Task task{"wait", {}};
        task.awaits = event.ticket;
        scheduler.submit(*stream.lane, std::move(task));
    }
    log.write("wait", line);
}

std::shared_ptr<Graph> Runtime::begin_capture(Stream& stream) {
    stream.graph = std::make_shared<Graph>(next_graph_++, stream.id);
    return stream.graph;
}

void Runtime::end_capture(Graph& graph) {
    graph.capturing = false;
    for (const auto& [handle, stream] : streams_) {
        if (stream->graph.get() == &graph) stream->graph = nullptr;
    }
}

void Runtime::fail(aclError code, const std::string& message) {
    if (error_ != ACL_SUCCESS) return;  // the first one is the cause
    error_ = code;
    error_message_ = message;
    JsonLine line;
    line.add("message", message);
    log.write("error", line);
}

void Runtime::clear_error() {
    error_ = ACL_SUCCESS;
    error_message_.clear();
}

}  // namespace npusim
