// Core limits: how many cores an operator may use, set for the device or for a stream.
#pragma once

#include "runtime.h"

namespace npusim {

// The limits of the stream that this thread uses; without one, those of the device.
Cores cores_of_this_thread();

}  // namespace npusim
