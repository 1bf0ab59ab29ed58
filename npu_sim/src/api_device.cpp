// Entry points about the device itself: initialisation, context, versions, capabilities.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "acl/acl_op_compiler.h"
#include "acl/acl_platform.h"
#include "runtime.h"

using namespace npusim;

namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

// The wheel turns features on by these.
constexpr const char* kCannVersion = "9.0.0";
constexpr const char* kDriverVersion = "25.5.0";

const char* version_of(const std::string& package) {
    return package.find("driver") == std::string::npos ? kCannVersion : kDriverVersion;
}

int context;  // its address is the one context's handle

std::map<aclSysParamOpt, int64_t>& system_parameters() {
    static std::map<aclSysParamOpt, int64_t> values;
    return values;
}

}  // namespace

extern "C" {

aclError aclInit(const char*) { return ACL_SUCCESS; }

aclError aclFinalize() {
    const Lock lock(runtime().mutex);
    runtime().log.flush();
    return ACL_SUCCESS;
}

const char* aclGetRecentErrMsg() { return recent_message(); }
void aclAppLog(aclLogLevel, const char*, const char*, uint32_t, const char*, ...) {}

aclError aclrtPeekAtLastError(aclrtLastErrLevel) { return ACL_SUCCESS; }
aclError aclrtGetLastError(aclrtLastErrLevel) { return ACL_SUCCESS; }

const char* aclrtGetSocName() {
    const char* name = std::getenv("NPUSIM_SOC");
    return name == nullptr ? "Ascend910B1" : name;
}

aclError aclsysGetCANNVersion(aclCANNPackageName package, aclCANNPackageVersion* version) {
    std::memset(version, 0, sizeof *version);
    const char* text = package == ACL_PKG_NAME_DRIVER ? kDriverVersion : kCannVersion;
    std::snprintf(version->version, sizeof version->version, "%s", text);
    return ACL_SUCCESS;
}

aclError aclsysGetVersionStr(char* package, char* version) {
    std::strcpy(version, version_of(package));
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceCount(uint32_t* count) {
    *count = 1;
    return ACL_SUCCESS;
}

aclError aclrtSetDevice(int32_t device) {
    const Lock lock(runtime().mutex);
    if (device != 0) return refuse(ACL_ERROR_RT_INVALID_DEVICEID, "the simulated NPU has one device, number 0");
    runtime().device = device;
    return ACL_SUCCESS;
}

// Fails before the first aclrtSetDevice, as the real one does: the wheel takes that as "not initialised yet".
aclError aclrtGetDevice(int32_t* device) {
    const Lock lock(runtime().mutex);
    if (runtime().device < 0) return refuse(ACL_ERROR_RT_CONTEXT_NULL, "no device is set");
    *device = runtime().device;
    return ACL_SUCCESS;
}

aclError aclrtResetDevice(int32_t) {
    const Lock lock(runtime().mutex);
    runtime().device = -1;
    return ACL_SUCCESS;
}

aclError aclrtGetPrimaryCtxState(int32_t, uint32_t* flags, int32_t* active) {
    const Lock lock(runtime().mutex);
    if (flags != nullptr) *flags = 0;
    *active = runtime().device >= 0 ? 1 : 0;
    return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext* out) {
    *out = &context;
    return ACL_SUCCESS;
}

aclError aclrtSetCurrentContext(aclrtContext) {
    const Lock lock(runtime().mutex);
    if (runtime().device < 0) runtime().device = 0;
    return ACL_SUCCESS;
}

aclError aclrtSetSysParamOpt(aclSysParamOpt option, int64_t value) {
    const Lock lock(runtime().mutex);
    system_parameters()[option] = value;
    return ACL_SUCCESS;
}

aclError aclrtGetSysParamOpt(aclSysParamOpt option, int64_t* value) {
    const Lock lock(runtime().mutex);
    *value = system_parameters()[option];
    return ACL_SUCCESS;
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt option, int64_t value) { return aclrtSetSysParamOpt(option, value); }

aclError aclGetCannAttribute(aclCannAttr, int32_t* value) {
    *value = 1;
    return ACL_SUCCESS;
}

aclError aclGetDeviceCapability(uint32_t, aclDeviceInfo info, int64_t* value) {
    const Lock lock(runtime().mutex);
    *value = info == ACL_DEVICE_INFO_AI_CORE_NUM ? runtime().hardware.aic : runtime().hardware.aiv;
    return ACL_SUCCESS;
}

aclError aclrtGetDeviceInfo(uint32_t, aclrtDevAttr attribute, int64_t* value) {
    const Lock lock(runtime().mutex);
    *value = attribute == ACL_DEV_ATTR_VECTOR_CORE_NUM ? runtime().hardware.aiv : runtime().hardware.aic;
    return ACL_SUCCESS;
}

size_t aclGetCompileoptSize(aclCompileOpt) { return 32; }

aclError aclGetCompileopt(aclCompileOpt, char* value, size_t length) {
    std::snprintf(value, length, "disable");
    return ACL_SUCCESS;
}

aclError aclSetCompileopt(aclCompileOpt, const char*) { return ACL_SUCCESS; }

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode) { return ACL_SUCCESS; }

aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actual) {
    *actual = timeout;
    return ACL_SUCCESS;
}

aclError aclrtSetOpWaitTimeout(uint32_t) { return ACL_SUCCESS; }

aclError aclrtDeviceCanAccessPeer(int32_t* can_access, int32_t, int32_t) {
    *can_access = 0;
    return ACL_SUCCESS;
}

aclError aclmdlInitDump() { return ACL_SUCCESS; }
aclError aclmdlSetDump(const char*) { return ACL_SUCCESS; }
aclError aclmdlFinalizeDump() { return ACL_SUCCESS; }

// The profiler's side: nothing is collected.
int32_t MsprofRegisterCallback(uint32_t, void*) { return 0; }
int32_t MsprofReportApi(uint32_t, const void*) { return 0; }
int32_t MsprofReportCompactInfo(uint32_t, const void*, uint32_t) { return 0; }
int32_t MsprofReportAdditionalInfo(uint32_t, const void*, uint32_t) { return 0; }
uint64_t MsprofGetHashId(const char*, size_t) { return 0; }
uint64_t MsprofSysCycleTime() { return 0; }

}  // extern "C"
