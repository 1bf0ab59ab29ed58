#include "positions.h"

namespace npusim {

int64_t checked(int64_t index, int64_t size, const Call& call) {
    const int64_t position = index < 0 ? index + size : index;
    if (position < 0 || position >= size) {
        throw UnsupportedCall(call.op() + ": index " + std::to_string(index) + " is outside of " +
                              std::to_string(size) + " (a missing sync can make an index garbage)");
    }
    return position;
}

}  // namespace npusim
