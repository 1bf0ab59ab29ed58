// Collectives for a world of one: each moves its data from the send to the receive buffer, on its stream.
#include <cstring>
#include <string>

#include "hccl/hccl.h"
#include "log_operands.h"
#include "runtime.h"

using namespace npusim;

namespace {

size_t size_of(HcclDataType dtype) {
    switch (dtype) {
        case HCCL_DATA_TYPE_INT8:
        case HCCL_DATA_TYPE_UINT8: return 1;
        case HCCL_DATA_TYPE_INT16:
        case HCCL_DATA_TYPE_UINT16:
        case HCCL_DATA_TYPE_FP16:
        case HCCL_DATA_TYPE_BFP16: return 2;
        case HCCL_DATA_TYPE_INT32:
        case HCCL_DATA_TYPE_UINT32:
        case HCCL_DATA_TYPE_FP32: return 4;
        case HCCL_DATA_TYPE_INT64:
        case HCCL_DATA_TYPE_UINT64:
        case HCCL_DATA_TYPE_FP64: return 8;
        default: return 0;
    }
}

int communicator;  // its address is the one communicator's handle

HcclResult open(uint32_t ranks, HcclComm* out) {
    if (ranks != 1) {
        refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "the simulated NPU has collectives for a world of one only");
        return HCCL_E_NOT_SUPPORT;
    }
    *out = &communicator;
    return HCCL_SUCCESS;
}

HcclResult launch(const char* name, const void* send, const void* receive, uint64_t count, HcclDataType dtype,
                  aclrtStream handle) {
    Runtime& device = runtime();
    const std::lock_guard<std::recursive_mutex> lock(device.mutex);
    Stream* stream = device.stream(handle);
    const size_t bytes = count * size_of(dtype);
    if (stream == nullptr || (bytes == 0 && count != 0)) return HCCL_E_PARA;
    auto* from = static_cast<char*>(const_cast<void*>(send));
    auto* to = static_cast<char*>(const_cast<void*>(receive));
    const bool in_place = from == to;
    const int node = device.launch(
        *stream, {name, [=] { std::memmove(to, from, bytes); }, {{{from, bytes}, false}, {{to, bytes}, !in_place}}});
    JsonLine line;
    line.add("stream", stream->id).add("operator", name).add("node", node);
    if (stream->graph) line.add("graph", stream->graph->id());
    const std::string written = bytes_json("receive", in_place ? "inout" : "out", to, bytes);
    line.add_raw("operands", "[" + (in_place ? written : bytes_json("send", "in", from, bytes) + ", " + written) + "]");
    device.log.write("launch", line);
    return HCCL_SUCCESS;
}

const char* at(const void* buffer, uint64_t elements, HcclDataType dtype) {
    return static_cast<const char*>(buffer) + elements * size_of(dtype);
}

}  // namespace

extern "C" {

HcclResult HcclGetRootInfo(HcclRootInfo* info) {
    std::memset(info, 0, sizeof *info);
    return HCCL_SUCCESS;
}

HcclResult HcclCommInitRootInfo(uint32_t ranks, const HcclRootInfo*, uint32_t, HcclComm* out) {
    return open(ranks, out);
}

HcclResult HcclCommInitRootInfoConfig(uint32_t ranks, const HcclRootInfo*, uint32_t, const HcclCommConfig*,
                                      HcclComm* out) {
    return open(ranks, out);
}

HcclResult HcclCommInitAll(uint32_t ranks, int32_t*, HcclComm* out) { return open(ranks, out); }
HcclResult HcclCommDestroy(HcclComm) { return HCCL_SUCCESS; }

HcclResult HcclGetCommName(HcclComm, char* name) {
    std::strcpy(name, "world_of_one");
    return HCCL_SUCCESS;
}

HcclResult HcclGetCommAsyncError(HcclComm, HcclResult* error) {
    *error = HCCL_SUCCESS;
    return HCCL_SUCCESS;
}

uint32_t HcclGetCommConfigCapability() { return 0; }

HcclResult HcclAllReduce(void* send, void* receive, uint64_t count, HcclDataType dtype, HcclReduceOp, HcclComm,
                         aclrtStream stream) {
    return launch(__func__, send, receive, count, dtype, stream);
}

HcclResult HcclReduce(void* send, void* receive, uint64_t count, HcclDataType dtype, HcclReduceOp, uint32_t, HcclComm,
                      aclrtStream stream) {
    return launch(__func__, send, receive, count, dtype, stream);
}

HcclResult HcclBroadcast(void* buffer, uint64_t count, HcclDataType dtype, uint32_t, HcclComm, aclrtStream stream) {
    return launch(__func__, buffer, buffer, count, dtype, stream);
}

HcclResult HcclReduceScatter(void* send, void* receive, uint64_t count, HcclDataType dtype, HcclReduceOp, HcclComm,
                             aclrtStream stream) {
    return launch(__func__, send, receive, count, dtype, stream);
}

HcclResult HcclScatter(void* send, void* receive, uint64_t count, HcclDataType dtype, uint32_t, HcclComm,
                       aclrtStream stream) {
    return launch(__func__, send, receive, count, dtype, stream);
}

HcclResult HcclAllGather(void* send, void* receive, uint64_t count, HcclDataType dtype, HcclComm, aclrtStream stream) {
    return launch(__func__, send, receive, count, dtype, stream);
}

HcclResult HcclAlltoAll(const void* send, uint64_t count, HcclDataType dtype, const void* receive, uint64_t,
                        HcclDataType, HcclComm, aclrtStream stream) {
    return launch(__func__, send, receive, count, dtype, stream);
}

HcclResult HcclAlltoAllV(const void* send, const void* counts, const void* starts, HcclDataType dtype,
                         const void* receive, const void*, const void* receive_starts, HcclDataType receive_dtype,
                         HcclComm, aclrtStream stream) {
    const auto first = [](const void* numbers) { return *static_cast<const uint64_t*>(numbers); };
    return launch(__func__, at(send, first(starts), dtype), at(receive, first(receive_starts), receive_dtype),
                  first(counts), dtype, stream);
}

}  // extern "C"
