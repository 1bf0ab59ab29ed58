// aclnnXGetWorkspaceSize and aclnnX for every X: one generic pair behind generated names.
#include <cstring>
#include <memory>

#include "arguments.h"
#include "generated.h"
#include "kernel.h"
#include "limits.h"
#include "log_operands.h"
#include "runtime.h"

namespace npusim {

namespace {

// What aclOpExecutor* points to.
struct Executor {
    std::string op;
    std::shared_ptr<Call> call;  // null when the operator has no entry in the table, or does not fit it
    std::vector<Value> operands;
    std::string problem;  // why the operator cannot run
    Cores cores;
};

std::unique_ptr<Executor> prepare(const std::string& op, Arguments arguments, CallEnd& end) {
    auto executor = std::make_unique<Executor>();
    executor->op = op;
    executor->cores = cores_of_this_thread();
    const Arguments untouched = arguments;
    const Signature* signature = find_signature(op);
    if (signature == nullptr) {
        executor->problem = op + " has no entry in the simulated NPU's operand direction table (npu_sim/operators.txt)";
    } else {
        try {
            executor->call = std::make_shared<Call>(op, signature, arguments.decode(op, *signature, end));
            if (find_kernel(op) == nullptr) executor->problem = op + " has no kernel on the simulated NPU";
            return executor;
        } catch (const UnsupportedCall& problem) {
            executor->problem = problem.what();
        }
    }
    executor->problem += "; it was called with: " + Arguments(untouched).describe();
    executor->operands = Arguments(untouched).recognise(end);
    return executor;
}

void add_access(std::vector<Access>& accesses, const Tensor& tensor, Direction direction) {
    if (tensor.storage != nullptr) {
        accesses.push_back({tensor.extent(), direction == Direction::out && tensor.dense()});
    }
}

std::vector<Access> accesses_of(const Call& call) {
    std::vector<Access> accesses;
    for (const bool written : {false, true}) {  // what an operator reads, it reads before it writes
        for (size_t i = 0; i < call.values().size(); ++i) {
            const Direction direction = call.direction(i);
            if ((direction == Direction::out) != written) continue;
            if (const auto* tensor = std::get_if<Tensor>(&call.values()[i])) add_access(accesses, *tensor, direction);
            if (const auto* list = std::get_if<std::vector<Tensor>>(&call.values()[i])) {
                for (const Tensor& item : *list) add_access(accesses, item, direction);
            }
        }
    }
    return accesses;
}

void run(const Call& call) {
    Runtime& device = runtime();
    try {
        (*find_kernel(call.op()))(call);
    } catch (const std::exception& problem) {
        device.fail(ACL_ERROR_RT_AICORE_EXCEPTION, problem.what());
    }
}

Launch launch_of(const Executor& executor) {
    Launch launch{executor.op, {}, {}};
    if (executor.call) launch.accesses = accesses_of(*executor.call);
    if (executor.problem.empty()) {
        launch.work = [call = executor.call] { run(*call); };
    } else {
        launch.work = [problem = executor.problem] { runtime().fail(ACL_ERROR_RT_AICORE_EXCEPTION, problem); };
    }
    return launch;
}

// Operators whose result has a shape that depends on data: the wheel reads the shape right after the launch.
bool returns_shape(const std::string& op) {
    return op == "aclnnNonzero" || op == "aclnnNonzeroV2" || op == "aclnnMaskedSelect";
}

}  // namespace

}  // namespace npusim

using namespace npusim;

extern "C" {

// Called by the trampoline. `index` is the operator's number in the generated list of names.
int npusim_prepare(const SavedRegisters* registers, const uint64_t* stack, int index) {
    CallEnd end;
    auto executor = prepare(kOperatorNames[index], Arguments(*registers, stack), end);
    if (end.executor == nullptr) {
        return refuse(ACL_ERROR_INVALID_PARAM,
                      std::string(kOperatorNames[index]) + ": the end of its arguments was not found");
    }
    *end.workspace_size = 0;
    *end.executor = executor.release();
    return ACL_SUCCESS;
}

int npusim_launch(void*, uint64_t, void* handle, aclrtStream stream_handle, int index) {
    const std::unique_ptr<Executor> executor(static_cast<Executor*>(handle));
    Runtime& device = runtime();
    const std::lock_guard<std::recursive_mutex> lock(device.mutex);
    Stream* stream = device.stream(stream_handle);
    if (stream == nullptr || executor == nullptr) {
        return refuse(ACL_ERROR_RT_PARAM_INVALID,
                      std::string(kOperatorNames[index]) + ": launched on a stream that does not exist");
    }
    if (stream->graph && returns_shape(executor->op)) {
        return refuse(ACL_ERROR_RT_STREAM_CAPTURED,
                      executor->op + " needs a host sync, which a captured stream cannot have");
    }
    const int node = device.launch(*stream, launch_of(*executor));
    JsonLine line;
    line.add("stream", stream->id).add("operator", executor->op).add("node", node);
    if (stream->graph) line.add("graph", stream->graph->id());
    line.add_raw("operands", executor->call ? operands_json(*executor->call) : operands_json(executor->operands));
    line.add("aic", executor->cores.aic).add("aiv", executor->cores.aiv);
    if (!executor->problem.empty()) line.add("note", executor->problem);
    device.log.write("launch", line);
    if (returns_shape(executor->op)) return synchronize([&] { device.scheduler.finish(*stream->lane); });
    return ACL_SUCCESS;
}

}  // extern "C"
