// Entry points about streams, events and host syncs.
#include "runtime.h"

using namespace npusim;

namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

aclError no_stream() { return refuse(ACL_ERROR_RT_PARAM_INVALID, "the stream does not exist, or no longer"); }
aclError no_event() { return refuse(ACL_ERROR_RT_PARAM_INVALID, "the event does not exist, or no longer"); }

aclError captured(const Stream& stream) {
    return refuse(ACL_ERROR_RT_STREAM_CAPTURED,
                  "stream " + std::to_string(stream.id) + " is being captured: the host cannot wait for it");
}

void log_sync(const char* what, int id) {
    JsonLine line;
    line.add("of", what).add(what, id);
    runtime().log.write("sync", line);
}

aclError synchronize_device() {
    Runtime& device = runtime();
    const Lock lock(device.mutex);
    log_sync("device", 0);
    return synchronize([&] { device.scheduler.finish_all(); });
}

aclError synchronize_stream(aclrtStream handle) {
    Runtime& device = runtime();
    const Lock lock(device.mutex);
    Stream* stream = device.stream(handle);
    if (stream == nullptr) return no_stream();
    if (stream->graph) return captured(*stream);
    log_sync("stream", stream->id);
    return synchronize([&] { device.scheduler.finish(*stream->lane); });
}

aclError synchronize_event(aclrtEvent handle) {
    Runtime& device = runtime();
    const Lock lock(device.mutex);
    Event* event = device.event(handle);
    if (event == nullptr) return no_event();
    if (event->graph.lock()) return refuse(ACL_ERROR_RT_EVENT_CAPTURED, "the event was recorded in a capture");
    log_sync("event", event->id);
    return synchronize([&] {
        if (event->ticket) device.scheduler.finish(*event->ticket);
    });
}

// A host that polls without issuing anything must get on in the end; one that polls in passing must not change the
// order.
constexpr int kPatience = 64;

bool polled_in_vain(Polling& polling) {
    const uint64_t now = runtime().scheduler.submissions();
    polling.in_vain = polling.submissions == now ? polling.in_vain + 1 : 0;
    polling.submissions = now;
    return polling.in_vain > kPatience;
}

aclError create_event(aclrtEvent* event) {
    const Lock lock(runtime().mutex);
    *event = runtime().create_event();
    return ACL_SUCCESS;
}

aclError create_stream(aclrtStream* stream, uint32_t priority) {
    const Lock lock(runtime().mutex);
    *stream = runtime().create_stream(priority);
    return ACL_SUCCESS;
}

aclError destroy_stream(aclrtStream handle) {
    const Lock lock(runtime().mutex);
    Stream* stream = runtime().stream(handle);
    if (handle == nullptr || stream == nullptr) return no_stream();
    return synchronize([&] { runtime().destroy_stream(stream); });
}

}  // namespace

extern "C" {

aclError aclrtCreateStream(aclrtStream* stream) { return create_stream(stream, 0); }
aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t) {
    return create_stream(stream, priority);
}
aclError aclrtDestroyStream(aclrtStream stream) { return destroy_stream(stream); }
aclError aclrtDestroyStreamForce(aclrtStream stream) { return destroy_stream(stream); }
aclError aclrtSetStreamFailureMode(aclrtStream, uint64_t) { return ACL_SUCCESS; }
aclError aclrtSetStreamAttribute(aclrtStream, aclrtStreamAttr, aclrtStreamAttrValue*) { return ACL_SUCCESS; }

aclError aclrtStreamGetId(aclrtStream handle, int32_t* id) {
    const Lock lock(runtime().mutex);
    Stream* stream = runtime().stream(handle);
    if (stream == nullptr) return no_stream();
    *id = stream->id;
    return ACL_SUCCESS;
}

aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus* status) {
    const Lock lock(runtime().mutex);
    Stream* stream = runtime().stream(handle);
    if (stream == nullptr) return no_stream();
    if (stream->graph) return captured(*stream);
    aclError error = ACL_SUCCESS;
    if (!stream->lane->queue.empty() && polled_in_vain(stream->polling)) {
        error = synchronize([&] { runtime().scheduler.finish(*stream->lane); });
    }
    *status = stream->lane->queue.empty() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return error;
}

aclError aclrtCreateEvent(aclrtEvent* event) { return create_event(event); }
aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t) { return create_event(event); }
aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t) { return create_event(event); }

aclError aclrtDestroyEvent(aclrtEvent handle) {
    const Lock lock(runtime().mutex);
    Event* event = runtime().event(handle);
    if (event == nullptr) return no_event();
    runtime().destroy_event(event);
    return ACL_SUCCESS;
}

aclError aclrtRecordEvent(aclrtEvent handle, aclrtStream stream_handle) {
    const Lock lock(runtime().mutex);
    Event* event = runtime().event(handle);
    Stream* stream = runtime().stream(stream_handle);
    if (event == nullptr) return no_event();
    if (stream == nullptr) return no_stream();
    runtime().record(*stream, *event);
    return ACL_SUCCESS;
}

aclError aclrtStreamWaitEvent(aclrtStream stream_handle, aclrtEvent handle) {
    const Lock lock(runtime().mutex);
    Event* event = runtime().event(handle);
    Stream* stream = runtime().stream(stream_handle);
    if (event == nullptr) return no_event();
    if (stream == nullptr) return no_stream();
    runtime().wait(*stream, *event);
    return ACL_SUCCESS;
}

// Waits issued before keep the record that they refer to, so an event can be used again at once.
aclError aclrtResetEvent(aclrtEvent, aclrtStream) { return ACL_SUCCESS; }

aclError aclrtQueryEventStatus(aclrtEvent handle, aclrtEventRecordedStatus* status) {
    const Lock lock(runtime().mutex);
    Event* event = runtime().event(handle);
    if (event == nullptr) return no_event();
    if (event->graph.lock()) return refuse(ACL_ERROR_RT_EVENT_CAPTURED, "the event was recorded in a capture");
    aclError error = ACL_SUCCESS;
    if (event->ticket && !event->ticket->done && polled_in_vain(event->polling)) {
        error = synchronize([&] { runtime().scheduler.finish(*event->ticket); });
    }
    const bool complete = !event->ticket || event->ticket->done;
    *status = complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return error;
}

aclError aclrtEventElapsedTime(float* milliseconds, aclrtEvent, aclrtEvent) {
    *milliseconds = 0;  // the simulated device has no clock
    return ACL_SUCCESS;
}

aclError aclrtSynchronizeEvent(aclrtEvent event) { return synchronize_event(event); }
aclError aclrtSynchronizeStream(aclrtStream stream) { return synchronize_stream(stream); }
aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t) { return synchronize_stream(stream); }
aclError aclrtSynchronizeDevice() { return synchronize_device(); }
aclError aclrtSynchronizeDeviceWithTimeout(int32_t) { return synchronize_device(); }

aclError aclrtLaunchHostFunc(aclrtStream handle, aclrtHostFunc function, void* argument) {
    const Lock lock(runtime().mutex);
    Stream* stream = runtime().stream(handle);
    if (stream == nullptr) return no_stream();
    JsonLine line;
    line.add("stream", stream->id);
    line.add("node", runtime().launch(*stream, {"host function", [=] { function(argument); }, {}}));
    runtime().log.write("host_function", line);
    return ACL_SUCCESS;
}

aclError aclrtLaunchCallback(aclrtCallback function, void* argument, aclrtCallbackBlockType, aclrtStream stream) {
    return aclrtLaunchHostFunc(stream, function, argument);
}

// Callbacks run with the task that they belong to; no thread needs to poll for them.
aclError aclrtSubscribeReport(uint64_t, aclrtStream) { return ACL_SUCCESS; }
aclError aclrtUnSubscribeReport(uint64_t, aclrtStream) { return ACL_SUCCESS; }
aclError aclrtProcessReport(int32_t) { return ACL_SUCCESS; }

}  // extern "C"
