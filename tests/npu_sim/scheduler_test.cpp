// The scheduler alone: three lanes, events between them, the order in which
// each policy runs the tasks.
#include <cstdio>
#include <cstdlib>

#include "scheduler.h"

using namespace npusim;

namespace {

struct Bench {
  Scheduler scheduler;
  Lane &main = scheduler.open(0);
  Lane &side = scheduler.open(1);
  std::string ran;

  TicketPtr run(Lane &lane, char name, TicketPtr awaits = nullptr) {
    if (awaits) {
      Task wait{"wait", {}, awaits, nullptr};
      scheduler.submit(lane, wait);
    }
    Task task{"task", [this, name] { ran += name; }, nullptr,
              std::make_shared<Ticket>()};
    task.node = name - 'a';
    const TicketPtr done = task.signals;
    scheduler.submit(lane, std::move(task));
    return done;
  }
};

void expect(const std::string &order, const std::string &expected,
            const std::string &got) {
  if (got == expected)
    return;
  std::printf("%s: ran %s instead of %s\n", order.c_str(), got.c_str(),
              expected.c_str());
  std::exit(1);
}

// main: a, then d after c. side: b, then c after a, then e.
std::string run_all(const std::string &order) {
  Bench bench;
  bench.scheduler.set_order(make_order(order));
  const TicketPtr a = bench.run(bench.main, 'a');
  bench.run(bench.side, 'b');
  const TicketPtr c = bench.run(bench.side, 'c', a);
  bench.run(bench.main, 'd', c);
  bench.run(bench.side, 'e');
  bench.scheduler.finish_all();
  return bench.ran;
}

void sync_of_one_stream_leaves_the_other() {
  Bench bench;
  bench.scheduler.set_order(make_order("side_last"));
  bench.run(bench.main, 'a');
  bench.run(bench.side, 'b');
  bench.scheduler.finish(bench.main);
  expect("side_last, main only", "a", bench.ran);
}

void wait_for_nothing_to_come_is_reported(const std::string &order) {
  Bench bench;
  bench.scheduler.set_order(make_order(order));
  const auto never = std::make_shared<Ticket>();
  never->lane = bench.side.id;
  never->position = 1;
  bench.run(bench.main, 'a', never);
  try {
    bench.scheduler.finish_all();
  } catch (const Deadlock &) {
    return;
  }
  expect(order, "a deadlock", bench.ran);
}

} // namespace

int main() {
  expect("serial", "abcde", run_all("serial"));
  expect("side_first", "baced", run_all("side_first"));
  expect("side_last", "abcde", run_all("side_last"));
  expect("after b", "abcde", run_all("after:1"));
  expect("before c runs what it needs", "bac",
         run_all("before:2").substr(0, 3));
  sync_of_one_stream_leaves_the_other();
  for (const char *order : {"serial", "side_first", "side_last", "random:1",
                            "before:0", "after:0"}) {
    wait_for_nothing_to_come_is_reported(order);
  }
  if (make_order("fastest") != nullptr || make_order("random:x") != nullptr)
    return 1;
  std::puts("ok");
  return 0;
}
