// The C arguments of an aclnnXGetWorkspaceSize call, read back from the registers and the stack.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "call.h"
#include "signature.h"

namespace npusim {

// As the trampoline saves them.
struct SavedRegisters {
    uint64_t general[6];
    double floating[8];
};

// Where the call's result goes: its last two arguments.
struct CallEnd {
    uint64_t* workspace_size = nullptr;
    void** executor = nullptr;
};

class Arguments {
public:
    Arguments(const SavedRegisters& registers, const uint64_t* stack) : registers_(registers), stack_(stack) {}

    // Values in the order of the signature. Throws UnsupportedCall when the call does not fit it.
    std::vector<Value> decode(const std::string& op, const Signature& signature, CallEnd& end);

    // Without a signature: the operands that are live handles, and where the result goes.
    std::vector<Value> recognise(CallEnd& end);

    // What the integer registers and the stack hold, for people who add an entry to the table: "tensor ints 3 tensor".
    // Doubles and floats are passed in registers of their own, so their places among the others do not show.
    std::string describe();

private:
    uint64_t next_general();
    double next_double();
    float next_float();
    Value next(Kind kind);

    const SavedRegisters& registers_;
    const uint64_t* stack_;
    int general_ = 0;
    int floating_ = 0;
    int on_stack_ = 0;
};

}  // namespace npusim
