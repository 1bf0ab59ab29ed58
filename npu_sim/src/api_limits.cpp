#include "limits.h"

#include <mutex>

namespace npusim {

namespace {

// The stream whose limits operators prepared by this thread obey. Compared and looked up, never dereferenced unchecked.
thread_local aclrtStream used_stream = nullptr;

uint32_t& field(Cores& cores, aclrtDevResLimitType type) {
    return type == ACL_RT_DEV_RES_CUBE_CORE ? cores.aic : cores.aiv;
}

}  // namespace

Cores cores_of_this_thread() {
    Runtime& device = runtime();
    const std::lock_guard<std::recursive_mutex> lock(device.mutex);
    const Stream* stream = used_stream == nullptr ? nullptr : device.stream(used_stream);
    return stream == nullptr ? device.device_limit : stream->cores;
}

}  // namespace npusim

using namespace npusim;

extern "C" {

aclError aclrtGetDeviceResLimit(int32_t, aclrtDevResLimitType type, uint32_t* value) {
    const std::lock_guard<std::recursive_mutex> lock(runtime().mutex);
    *value = field(runtime().device_limit, type);
    return ACL_SUCCESS;
}

aclError aclrtSetDeviceResLimit(int32_t, aclrtDevResLimitType type, uint32_t value) {
    const std::lock_guard<std::recursive_mutex> lock(runtime().mutex);
    if (value < 1 || value > field(runtime().hardware, type)) {
        return refuse(ACL_ERROR_RT_PARAM_INVALID,
                      "core limit " + std::to_string(value) + " is not within 1 and the hardware's");
    }
    field(runtime().device_limit, type) = value;
    return ACL_SUCCESS;
}

aclError aclrtResetDeviceResLimit(int32_t) {
    const std::lock_guard<std::recursive_mutex> lock(runtime().mutex);
    runtime().device_limit = runtime().hardware;
    return ACL_SUCCESS;
}

aclError aclrtGetStreamResLimit(aclrtStream handle, aclrtDevResLimitType type, uint32_t* value) {
    const std::lock_guard<std::recursive_mutex> lock(runtime().mutex);
    Stream* stream = runtime().stream(handle);
    if (stream == nullptr) return refuse(ACL_ERROR_RT_PARAM_INVALID, "core limit of a stream that does not exist");
    *value = field(stream->cores, type);
    return ACL_SUCCESS;
}

aclError aclrtSetStreamResLimit(aclrtStream handle, aclrtDevResLimitType type, uint32_t value) {
    const std::lock_guard<std::recursive_mutex> lock(runtime().mutex);
    Stream* stream = runtime().stream(handle);
    if (stream == nullptr) return refuse(ACL_ERROR_RT_PARAM_INVALID, "core limit of a stream that does not exist");
    if (value < 1 || value > field(runtime().hardware, type)) {
        return refuse(ACL_ERROR_RT_PARAM_INVALID,
                      "core limit " + std::to_string(value) + " is not within 1 and the hardware's");
    }
    field(stream->cores, type) = value;
    return ACL_SUCCESS;
}

aclError aclrtResetStreamResLimit(aclrtStream handle) {
    const std::lock_guard<std::recursive_mutex> lock(runtime().mutex);
    Stream* stream = runtime().stream(handle);
    if (stream == nullptr) return refuse(ACL_ERROR_RT_PARAM_INVALID, "core limit of a stream that does not exist");
    stream->cores = runtime().device_limit;
    return ACL_SUCCESS;
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream handle) {
    used_stream = handle;
    return ACL_SUCCESS;
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream) {
    used_stream = nullptr;
    return ACL_SUCCESS;
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
    Cores cores = cores_of_this_thread();
    *value = field(cores, type);
    return ACL_SUCCESS;
}

}  // extern "C"
