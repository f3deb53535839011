#pragma once
#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace fault {

/// Whether a run is under way that may be made to fail; checks of what it left must not fail.
inline std::atomic<bool> in_run{false};

/// Throws at the nth call in a run while it is armed. Safe from any thread.
class Trip {
public:
    void arm(std::size_t fail_at, bool once = true) {
        calls_ = 0;
        failures_ = 0;
        once_ = once;
        fail_at_ = fail_at;
    }
    void disarm() { fail_at_ = 0; }
    std::size_t failures() const { return failures_; }

    void call(const std::string& who) {
        const std::size_t fail_at = fail_at_;
        if (fail_at == 0 || !in_run) return;
        const std::size_t number = ++calls_;
        if (once_ ? number != fail_at : number < fail_at) return;
        ++failures_;
        throw std::runtime_error("injected failure of " + who);
    }

private:
    std::atomic<std::size_t> fail_at_{0};
    std::atomic<std::size_t> calls_{0};
    std::atomic<std::size_t> failures_{0};
    std::atomic<bool> once_{true};
};

// The user code in a graph. Codecs and reducers have no object of their own that could hold one.
inline Trip nodes;
inline Trip routers;
inline Trip reducers;
inline Trip encoders;
inline Trip decoders;

}  // namespace fault
