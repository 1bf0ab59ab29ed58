// Entry points about captured graphs: aclmdlRI*.
#include <cstdio>
#include <memory>
#include <unordered_map>

#include "runtime.h"

using namespace npusim;

namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

// The graphs that the wheel holds; a handle is the address of the graph.
std::unordered_map<void*, std::shared_ptr<Graph>>& graphs() {
    static auto* const instance = new std::unordered_map<void*, std::shared_ptr<Graph>>;
    return *instance;
}

Graph* find(aclmdlRI handle) {
    const auto found = graphs().find(handle);
    return found == graphs().end() ? nullptr : found->second.get();
}

aclError no_graph() { return refuse(ACL_ERROR_RT_PARAM_INVALID, "the graph does not exist, or no longer"); }

void log_graph(const char* call, const Stream& stream, const Graph& graph) {
    JsonLine line;
    line.add("stream", stream.id).add("graph", graph.id());
    runtime().log.write(call, line);
}

std::string list_of(const std::vector<int>& numbers) {
    std::string out;
    for (const int number : numbers) out += (out.empty() ? "" : ", ") + std::to_string(number);
    return out;
}

}  // namespace

extern "C" {

aclError aclmdlRICaptureBegin(aclrtStream handle, aclmdlRICaptureMode) {
    const Lock lock(runtime().mutex);
    Stream* stream = runtime().stream(handle);
    if (stream == nullptr || handle == nullptr)
        return refuse(ACL_ERROR_RT_PARAM_INVALID, "this stream cannot be captured");
    if (stream->graph) return refuse(ACL_ERROR_RT_STREAM_CAPTURED, "the stream is already being captured");
    const auto graph = runtime().begin_capture(*stream);
    graphs()[graph.get()] = graph;
    log_graph("capture_begin", *stream, *graph);
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureGetInfo(aclrtStream handle, aclmdlRICaptureStatus* status, aclmdlRI* graph) {
    const Lock lock(runtime().mutex);
    Stream* stream = runtime().stream(handle);
    if (stream == nullptr) return refuse(ACL_ERROR_RT_PARAM_INVALID, "the stream does not exist, or no longer");
    *status = stream->graph ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE : ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    if (graph != nullptr) *graph = stream->graph.get();
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureEnd(aclrtStream handle, aclmdlRI* out) {
    const Lock lock(runtime().mutex);
    Stream* stream = runtime().stream(handle);
    if (stream == nullptr || !stream->graph) {
        return refuse(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "the stream is not being captured");
    }
    const std::shared_ptr<Graph> graph = stream->graph;
    if (graph->origin() != stream->id) {
        return refuse(ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, "the capture did not begin on this stream");
    }
    runtime().end_capture(*graph);
    log_graph("capture_end", *stream, *graph);
    const std::vector<int> unjoined = graph->unjoined();
    if (!unjoined.empty()) {
        graphs().erase(graph.get());
        return refuse(ACL_ERROR_RT_STREAM_UNJOINED, "the capture ends while stream " + list_of(unjoined) +
                                                        " is not joined to the stream where it began");
    }
    *out = graph.get();
    return ACL_SUCCESS;
}

aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode*) { return ACL_SUCCESS; }

aclError aclmdlRIGetId(aclmdlRI handle, uint32_t* id) {
    const Lock lock(runtime().mutex);
    const Graph* graph = find(handle);
    if (graph == nullptr) return no_graph();
    *id = static_cast<uint32_t>(graph->id());
    return ACL_SUCCESS;
}

aclError aclmdlRIExecuteAsync(aclmdlRI handle, aclrtStream stream_handle) {
    const Lock lock(runtime().mutex);
    const Graph* graph = find(handle);
    Stream* stream = runtime().stream(stream_handle);
    if (graph == nullptr || stream == nullptr) return no_graph();
    if (graph->capturing) return refuse(ACL_ERROR_RT_MODEL_CAPTURED, "the graph is still being captured");
    if (stream->graph) return refuse(ACL_ERROR_RT_STREAM_CAPTURED, "a graph cannot be replayed inside a capture");
    log_graph("replay", *stream, *graph);
    graph->replay(runtime().scheduler, *stream->lane);
    return ACL_SUCCESS;
}

// Replays that are still pending hold copies of the tasks.
aclError aclmdlRIDestroy(aclmdlRI handle) {
    const Lock lock(runtime().mutex);
    return graphs().erase(handle) != 0 ? ACL_SUCCESS : no_graph();
}

aclError aclmdlRIDebugPrint(aclmdlRI) { return ACL_SUCCESS; }

aclError aclmdlRIDebugJsonPrint(aclmdlRI handle, const char* path, uint32_t) {
    const Lock lock(runtime().mutex);
    const Graph* graph = find(handle);
    if (graph == nullptr) return no_graph();
    std::FILE* file = std::fopen(path, "w");
    if (file == nullptr) return refuse(ACL_ERROR_RT_FILE_OPEN, std::string("cannot write ") + path);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> closer(file, std::fclose);
    std::fputs("[", file);
    const char* separator = "\n";
    for (const CapturedTask& task : graph->tasks()) {
        JsonLine line;
        line.add("stream", task.stream).add("name", task.name).add("node", task.node);
        std::fprintf(file, "%s%s", separator,
                     line.add("awaits", task.awaits).add("signals", task.signals).text().c_str());
        separator = ",\n";
    }
    std::fputs("\n]\n", file);
    return ACL_SUCCESS;
}

}  // extern "C"
