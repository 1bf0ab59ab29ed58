// What a stream holds: tasks that run one after the other, some of which wait for or signal a ticket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace npusim {

// One record of an event: done when the recording stream has reached it. An event recorded again gets a new ticket,
// so that a wait refers to the record that came before it.
struct Ticket {
    int lane = 0;           // the lane that will signal it
    uint64_t position = 0;  // the number of tasks that lane has run once it is done
    bool done = false;
};

using TicketPtr = std::shared_ptr<Ticket>;

// Work for the device. A task that only records or only waits has no `work`.
struct Task {
    std::string name;
    std::function<void()> work;
    TicketPtr awaits = nullptr;
    TicketPtr signals = nullptr;
    int node =
        -1;  // number of the launch among the launches of its graph or of the eager call; -1 for records and waits
};

}  // namespace npusim
