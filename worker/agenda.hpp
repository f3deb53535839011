#pragma once
#include <chrono>
#include <cstdint>

namespace stategraph::workers {

/// How far a worker's life has come.
struct Life {
    bool is_running = false;
    bool is_stopping = false;
    bool is_draining = false;    // whether runs were asked to end after their superstep
    bool is_abandoning = false;  // whether runs were then asked to end immediately
    bool is_over = false;        // whether leases are renewed no longer
    std::chrono::steady_clock::time_point drain_end;
};

/// When a worker's threads are to do what.
struct Agenda {
    using Time = std::chrono::steady_clock::time_point;

    Time next_release;
    Time next_beginning;
    Time next_renewal;
    Time last_renewal;
    Time next_claim;
    Time last_claim;
    Time next_forgetting;
    bool may_be_more = false;   // whether the last claim got everything that it requested
    bool is_limited = false;    // whether a queue's limit over all workers kept the last claim from more, in any round
    bool is_woken = false;      // whether a notification has come since the last claim
    std::uint64_t cancels = 0;  // how many notifications of cancels have come
};

}  // namespace stategraph::workers
