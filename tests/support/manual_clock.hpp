#pragma once
#include <atomic>
#include <chrono>
#include <memory>

#include <stategraph/id_source.hpp>

/// A clock that advances only when a test says so.
class ManualClock final : public stategraph::IdSource {
public:
    std::chrono::system_clock::time_point now() override {
        return std::chrono::system_clock::time_point(std::chrono::microseconds(now_us_));
    }
    std::uint64_t uniqueBits() override { return ++bits_; }
    void passMs(std::int64_t ms) { now_us_ += ms * 1000; }

    static std::shared_ptr<ManualClock> make() { return std::make_shared<ManualClock>(); }

private:
    std::atomic<std::int64_t> now_us_{1'700'000'000'000'000};
    std::atomic<std::uint64_t> bits_{0};
};
