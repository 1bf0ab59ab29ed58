// npusim_*: what the Python side of the simulated NPU calls in the process that it runs in.
#include "runtime.h"

using namespace npusim;

namespace {
using Lock = std::lock_guard<std::recursive_mutex>;
}

extern "C" {

// Work issued under the former order is finished under it. False when `text` names no order.
bool npusim_set_order(const char* text) {
    Runtime& device = runtime();
    const Lock lock(device.mutex);
    auto order = make_order(text);
    if (!order) return false;
    synchronize([&] { device.scheduler.finish_all(); });
    device.scheduler.set_order(std::move(order));
    device.restart_nodes();
    return true;
}

// Launches outside of captures are numbered from 0 again.
void npusim_restart_nodes() {
    const Lock lock(runtime().mutex);
    runtime().restart_nodes();
}

bool npusim_log_start(const char* path) {
    const Lock lock(runtime().mutex);
    return runtime().log.start(path);
}

void npusim_log_stop() {
    const Lock lock(runtime().mutex);
    runtime().log.stop();
}

void npusim_log_flush() {
    const Lock lock(runtime().mutex);
    runtime().log.flush();
}

// Writes a line of the caller's own into the log, to find a place again.
void npusim_log_mark(const char* text) {
    const Lock lock(runtime().mutex);
    JsonLine line;
    line.add("note", text);
    runtime().log.write("mark", line);
}

// Runs all that is pending. Returns the error code that a host sync would.
int npusim_finish() {
    Runtime& device = runtime();
    const Lock lock(device.mutex);
    return synchronize([&] { device.scheduler.finish_all(); });
}

bool npusim_idle() {
    const Lock lock(runtime().mutex);
    return runtime().scheduler.idle();
}

// Overwrites device memory with NaN at once. False when the range does not lie in a device block.
bool npusim_poison(void* address, uint64_t bytes) {
    const Lock lock(runtime().mutex);
    auto* begin = static_cast<char*>(address);
    if (bytes == 0) return true;
    if (!runtime().memory.is_device(begin) || !runtime().memory.is_device(begin + bytes - 1)) return false;
    poison({begin, bytes});
    return true;
}

// The first failure since the last npusim_clear_error, or "".
const char* npusim_error() {
    const Lock lock(runtime().mutex);
    static thread_local std::string message;
    message = runtime().error_message();
    return message.c_str();
}

void npusim_clear_error() {
    const Lock lock(runtime().mutex);
    runtime().clear_error();
}

}  // extern "C"
