#include "tests/failover/modes.hpp"

#include <atomic>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include <stategraph/leased_saver.hpp>
#include <stategraph/worker.hpp>

#include "tests/failover/graphs.hpp"

using namespace std::chrono_literals;

namespace failover {

int work(const std::string& database, const std::string& folder, const std::string& name,
         const std::atomic<bool>& is_ending) {
    const auto saver = std::make_shared<sg::LeasedSaver>(std::make_shared<sg::PostgresSaver>(database, saverOptions()));
    const Journal effects(folder + "/effects");
    const auto say = [](const std::string& text) { std::cerr << text + "\n" << std::flush; };
    sg::Worker worker(saver, {.name = name,
                              .slots = 4,
                              .lease = 6s,
                              .poll_interval = 100ms,
                              .listen = true,
                              .attempts_max = 1'000,
                              .backoff = 100ms,
                              .backoff_max = 1s,
                              .on_left =
                                  [&](const sg::WorkerEvent& event) {
                                      if (!event.error.empty()) say(event.thread_id + ": " + event.error);
                                  },
                              .on_error =
                                  [&](const std::exception_ptr& error) {
                                      try {
                                          std::rethrow_exception(error);
                                      } catch (const std::exception& why) {
                                          say(why.what());
                                      }
                                  }});
    worker.add("sync", workGraph(saver, effects, "sync"), {.config = {.durability = sg::Durability::sync}});
    worker.add("async", workGraph(saver, effects, "async"), {.config = {.durability = sg::Durability::async}});
    std::thread ender([&] {
        while (!is_ending) std::this_thread::sleep_for(50ms);  // sleeps: until a signal, which may call nothing
        worker.stop();
    });
    worker.run();
    ender.join();
    return 0;
}

}  // namespace failover
