// Entry points that the wheel links to and that are not simulated: each says so by its name.
#include <cstdint>

#include "runtime.h"

using namespace npusim;

namespace {

aclError not_simulated(const char* name) {
    return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, std::string(name) + " is not simulated");
}

}  // namespace

extern "C" {

// Virtual memory (expandable segments) and memory shared between processes.
aclError aclrtReserveMemAddress(void**, size_t, size_t, void*, uint64_t) { return not_simulated(__func__); }
aclError aclrtReleaseMemAddress(void*) { return not_simulated(__func__); }
aclError aclrtMallocPhysical(aclrtDrvMemHandle*, size_t, const aclrtPhysicalMemProp*, uint64_t) {
    return not_simulated(__func__);
}
aclError aclrtFreePhysical(aclrtDrvMemHandle) { return not_simulated(__func__); }
aclError aclrtMapMem(void*, size_t, size_t, aclrtDrvMemHandle, uint64_t) { return not_simulated(__func__); }
aclError aclrtUnmapMem(void*) { return not_simulated(__func__); }
aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle, aclrtMemHandleType, uint64_t, uint64_t*) {
    return not_simulated(__func__);
}
aclError aclrtMemImportFromShareableHandle(uint64_t, int32_t, aclrtDrvMemHandle*) { return not_simulated(__func__); }
aclError aclrtMemSetPidToShareableHandle(uint64_t, int32_t*, size_t) { return not_simulated(__func__); }
aclError aclrtDeviceGetBareTgid(int32_t*) { return not_simulated(__func__); }
aclError aclrtDeviceEnablePeerAccess(int32_t, uint32_t) { return not_simulated(__func__); }

// Kernels that come as binaries.
aclError aclrtBinaryLoadFromData(const void*, size_t, const aclrtBinaryLoadOptions*, aclrtBinHandle*) {
    return not_simulated(__func__);
}
aclError aclrtBinaryGetFunction(const aclrtBinHandle, const char*, aclrtFuncHandle*) { return not_simulated(__func__); }
aclError aclrtGetFunctionAddr(aclrtFuncHandle, void**, void**) { return not_simulated(__func__); }
int rtDevBinaryRegister(const void*, void**) { return not_simulated(__func__); }
int rtFunctionRegister(void*, const void*, const char*, const void*, uint32_t) { return not_simulated(__func__); }
int rtKernelLaunch(const void*, uint32_t, void*, uint32_t, void*, void*) { return not_simulated(__func__); }
int rtGetC2cCtrlAddr(uint64_t*, uint32_t*) { return not_simulated(__func__); }

}  // extern "C"
