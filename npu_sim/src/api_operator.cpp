// The older operator interface, aclop*: calls are logged and make the run fail by the operator's name.
#include <string>
#include <vector>

#include "acl/acl_op.h"
#include "acl/acl_op_compiler.h"
#include "log_operands.h"
#include "operand.h"
#include "runtime.h"

struct aclTensorDesc {
    aclDataType dtype;
    npusim::Shape shape;
    aclFormat format;
};
struct aclDataBuffer {
    void* address;
    size_t bytes;
};
struct aclopAttr {};

using namespace npusim;

namespace {

std::string buffers_json(const char* direction, int count, const aclDataBuffer* const buffers[]) {
    std::string list;
    for (int i = 0; i < count; ++i) {
        if (buffers[i] == nullptr) continue;
        list += (list.empty() ? "" : ", ") +
                bytes_json(std::to_string(i), direction, buffers[i]->address, buffers[i]->bytes);
    }
    return list;
}

}  // namespace

extern "C" {

aclTensorDesc* aclCreateTensorDesc(aclDataType dtype, int rank, const int64_t* dims, aclFormat format) {
    return new aclTensorDesc{dtype, {dims, dims + rank}, format};
}

void aclDestroyTensorDesc(const aclTensorDesc* desc) { delete desc; }
void aclSetTensorDescName(aclTensorDesc*, const char*) {}
aclError aclSetTensorFormat(aclTensorDesc*, aclFormat) { return ACL_SUCCESS; }
aclError aclSetTensorShape(aclTensorDesc*, int, const int64_t*) { return ACL_SUCCESS; }
aclError aclSetTensorPlaceMent(aclTensorDesc*, aclMemType) { return ACL_SUCCESS; }
aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) { return desc->format; }
aclDataType aclGetTensorDescType(const aclTensorDesc* desc) { return desc->dtype; }
size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) { return desc->shape.size(); }

aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* size) {
    *size = desc->shape.at(index);
    return ACL_SUCCESS;
}

aclDataBuffer* aclCreateDataBuffer(void* address, size_t bytes) { return new aclDataBuffer{address, bytes}; }

aclError aclDestroyDataBuffer(const aclDataBuffer* buffer) {
    delete buffer;
    return ACL_SUCCESS;
}

aclopAttr* aclopCreateAttr() { return new aclopAttr; }
void aclopDestroyAttr(const aclopAttr* attr) { delete attr; }
aclError aclopSetAttrBool(aclopAttr*, const char*, uint8_t) { return ACL_SUCCESS; }
aclError aclopSetAttrDataType(aclopAttr*, const char*, aclDataType) { return ACL_SUCCESS; }
aclError aclopSetAttrFloat(aclopAttr*, const char*, float) { return ACL_SUCCESS; }
aclError aclopSetAttrInt(aclopAttr*, const char*, int64_t) { return ACL_SUCCESS; }
aclError aclopSetAttrString(aclopAttr*, const char*, const char*) { return ACL_SUCCESS; }
aclError aclopSetAttrListBool(aclopAttr*, const char*, int, const uint8_t*) { return ACL_SUCCESS; }
aclError aclopSetAttrListFloat(aclopAttr*, const char*, int, const float*) { return ACL_SUCCESS; }
aclError aclopSetAttrListInt(aclopAttr*, const char*, int, const int64_t*) { return ACL_SUCCESS; }
aclError aclopSetAttrListListInt(aclopAttr*, const char*, int, const int*, const int64_t* const[]) {
    return ACL_SUCCESS;
}

aclError aclopCompileAndExecute(const char* type, int inputs, const aclTensorDesc* const[],
                                const aclDataBuffer* const in[], int outputs, const aclTensorDesc* const[],
                                aclDataBuffer* const out[], const aclopAttr*, aclopEngineType, aclopCompileType,
                                const char*, aclrtStream handle) {
    Runtime& device = runtime();
    const std::lock_guard<std::recursive_mutex> lock(device.mutex);
    Stream* stream = device.stream(handle);
    if (stream == nullptr) return refuse(ACL_ERROR_RT_PARAM_INVALID, "operator on a stream that does not exist");
    const std::string problem =
        std::string(type) + " has no kernel on the simulated NPU (it was launched by aclopCompileAndExecute)";
    const auto fail = [problem] { runtime().fail(ACL_ERROR_RT_AICORE_EXCEPTION, problem); };
    JsonLine line;
    line.add("stream", stream->id).add("operator", type).add("node", device.launch(*stream, {type, fail, {}}));
    const std::string read = buffers_json("in", inputs, in);
    const std::string written = buffers_json("out", outputs, out);
    line.add_raw("operands", "[" + read + (read.empty() || written.empty() ? "" : ", ") + written + "]")
        .add("note", problem);
    device.log.write("launch", line);
    return ACL_SUCCESS;
}

}  // extern "C"
