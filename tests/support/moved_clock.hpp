#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include <stategraph/id_source.hpp>

/// Clocks that a test advances, so that durations are exact; counts how often they are read.
class MovedClock final : public stategraph::IdSource {
public:
    static constexpr std::int64_t begin_us = 1'700'000'000'000'000;

    std::chrono::system_clock::time_point now() override {
        ++wall_readings;
        return std::chrono::system_clock::time_point(std::chrono::microseconds(begin_us + passed_us_ + wall_off_us_));
    }
    std::uint64_t uniqueBits() override { return ++bits_; }
    std::chrono::steady_clock::time_point steady() override {
        ++steady_readings;
        return std::chrono::steady_clock::time_point(std::chrono::microseconds(1'000'000 + passed_us_));
    }

    /// Advances time.
    void pass(std::int64_t us) { passed_us_ += us; }
    /// Sets the wall clock, as a user or a time server would.
    void setWall(std::int64_t by_us) { wall_off_us_ += by_us; }
    /// The time on the wall clock before it was set.
    static std::chrono::system_clock::time_point at(std::int64_t passed_us) {
        return std::chrono::system_clock::time_point(std::chrono::microseconds(begin_us + passed_us));
    }

    static std::shared_ptr<MovedClock> make() { return std::make_shared<MovedClock>(); }

    std::atomic<std::size_t> wall_readings{0};
    std::atomic<std::size_t> steady_readings{0};

private:
    std::atomic<std::int64_t> passed_us_{0};
    std::atomic<std::int64_t> wall_off_us_{0};
    std::atomic<std::uint64_t> bits_{0};
};
