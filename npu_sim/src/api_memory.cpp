// Entry points about memory: allocation, copies, fills.
#include <cstring>
#include <vector>

#include "log_operands.h"
#include "runtime.h"

using namespace npusim;

namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

aclError allocate_device(void** address, size_t bytes) {
    Runtime& device = runtime();
    const Lock lock(device.mutex);
    *address = device.memory.allocate_device(bytes);
    if (*address == nullptr) return refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, "the simulated NPU is out of memory");
    JsonLine line;
    line.add("address", reinterpret_cast<int64_t>(*address)).add("bytes", static_cast<int64_t>(bytes));
    device.log.write("malloc", line);
    return ACL_SUCCESS;
}

aclError allocate_host(void** address, size_t bytes) {
    const Lock lock(runtime().mutex);
    *address = runtime().memory.allocate_host(bytes);
    return *address == nullptr ? refuse(ACL_ERROR_RT_MEMORY_ALLOCATION, "the host is out of memory") : ACL_SUCCESS;
}

std::string copy_operands(const void* source, const void* target, size_t bytes) {
    return "[" + bytes_json("source", "in", source, bytes) + ", " + bytes_json("target", "out", target, bytes) + "]";
}

void log_copy(const Stream* stream, int node, const char* kind, const std::string& operands) {
    JsonLine line;
    if (stream != nullptr) line.add("stream", stream->id).add("node", node);
    if (stream != nullptr && stream->graph) line.add("graph", stream->graph->id());
    line.add("kind", kind).add_raw("operands", operands);
    runtime().log.write("copy", line);
}

const char* kind_of_copy(const void* source, const void* target) {
    const Memory& memory = runtime().memory;
    if (memory.is_device(source)) return memory.is_device(target) ? "device to device" : "device to host";
    return memory.is_device(target) ? "host to device" : "host to host";
}

// Pageable host memory is read when the copy is issued: its owner may change it right after.
std::function<void()> copy_work(void* target, const void* source, size_t bytes) {
    const Memory& memory = runtime().memory;
    if (memory.is_device(source) || memory.is_pinned_host(source)) {
        return [=] { std::memmove(target, source, bytes); };
    }
    const auto* begin = static_cast<const char*>(source);
    return
        [target, bytes = std::vector<char>(begin, begin + bytes)] { std::memcpy(target, bytes.data(), bytes.size()); };
}

}  // namespace

extern "C" {

aclError aclrtMalloc(void** address, size_t bytes, aclrtMemMallocPolicy) { return allocate_device(address, bytes); }
aclError aclrtMallocAlign32(void** address, size_t bytes, aclrtMemMallocPolicy) {
    return allocate_device(address, bytes);
}
aclError aclrtMallocHost(void** address, size_t bytes) { return allocate_host(address, bytes); }
aclError aclrtMallocHostWithCfg(void** address, uint64_t bytes, aclrtMallocConfig*) {
    return allocate_host(address, bytes);
}

// Work that still uses the block is finished first.
aclError aclrtFree(void* address) {
    Runtime& device = runtime();
    const Lock lock(device.mutex);
    synchronize([&] { device.scheduler.finish_all(); });
    if (!device.memory.release_device(address)) return refuse(ACL_ERROR_RT_MEMORY_FREE, "not a device block");
    JsonLine line;
    line.add("address", reinterpret_cast<int64_t>(address));
    device.log.write("free", line);
    return ACL_SUCCESS;
}

aclError aclrtFreeHost(void* address) {
    Runtime& device = runtime();
    const Lock lock(device.mutex);
    synchronize([&] { device.scheduler.finish_all(); });
    return device.memory.release_host(address) ? ACL_SUCCESS : refuse(ACL_ERROR_RT_MEMORY_FREE, "not a pinned block");
}

aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
    const Lock lock(runtime().mutex);
    *total = Memory::kCapacity;
    *free = Memory::kCapacity - runtime().memory.used();
    return ACL_SUCCESS;
}

aclError aclrtPointerGetAttributes(const void* address, aclrtPtrAttributes* attributes) {
    const Lock lock(runtime().mutex);
    const Memory& memory = runtime().memory;
    std::memset(attributes, 0, sizeof *attributes);
    attributes->location.type = memory.is_device(address)        ? ACL_MEM_LOCATION_TYPE_DEVICE
                                : memory.is_pinned_host(address) ? ACL_MEM_LOCATION_TYPE_HOST
                                                                 : ACL_MEM_LOCATION_TYPE_UNREGISTERED;
    return ACL_SUCCESS;
}

// Synchronous copies and fills belong to no stream and are not ordered with any.
aclError aclrtMemcpy(void* target, size_t, const void* source, size_t bytes, aclrtMemcpyKind) {
    const Lock lock(runtime().mutex);
    log_copy(nullptr, -1, kind_of_copy(source, target), copy_operands(source, target, bytes));
    std::memmove(target, source, bytes);
    return runtime().error() == ACL_SUCCESS ? ACL_SUCCESS : refuse(runtime().error(), runtime().error_message());
}

aclError aclrtMemset(void* target, size_t, int32_t value, size_t bytes) {
    const Lock lock(runtime().mutex);
    std::memset(target, value, bytes);
    return ACL_SUCCESS;
}

aclError aclrtMemcpyAsync(void* target, size_t, const void* source, size_t bytes, aclrtMemcpyKind, aclrtStream handle) {
    Runtime& device = runtime();
    const Lock lock(device.mutex);
    Stream* stream = device.stream(handle);
    if (stream == nullptr) return refuse(ACL_ERROR_RT_PARAM_INVALID, "copy on a stream that does not exist");
    auto* from = static_cast<char*>(const_cast<void*>(source));
    auto* to = static_cast<char*>(target);
    const int node = device.launch(
        *stream, {"copy", copy_work(target, source, bytes), {{{from, bytes}, false}, {{to, bytes}, true}}});
    log_copy(stream, node, kind_of_copy(source, target), copy_operands(source, target, bytes));
    return ACL_SUCCESS;
}

aclError aclrtMemsetAsync(void* target, size_t, int32_t value, size_t bytes, aclrtStream handle) {
    Runtime& device = runtime();
    const Lock lock(device.mutex);
    Stream* stream = device.stream(handle);
    if (stream == nullptr) return refuse(ACL_ERROR_RT_PARAM_INVALID, "fill on a stream that does not exist");
    auto* to = static_cast<char*>(target);
    const int node =
        device.launch(*stream, {"fill", [=] { std::memset(target, value, bytes); }, {{{to, bytes}, true}}});
    log_copy(stream, node, "fill", "[" + bytes_json("target", "out", target, bytes) + "]");
    return ACL_SUCCESS;
}

}  // extern "C"
