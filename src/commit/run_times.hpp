#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include <stategraph/id_source.hpp>

#include "src/value/times.hpp"

namespace stategraph::engine {

/// A moment of the clock that never jumps, in microseconds. Durations are differences of whole microseconds, so they
/// add up without an error that grows.
using MomentUs = std::int64_t;

/// Notes when the supersteps of a run begin and end, for the log. One reading of the clock that never jumps also gives
/// the time of an id, so a superstep that is stored reads the clock twice: for its id, and after it was stored.
///
/// Only the run changes this object, while none of its tasks runs; tasks read it on any thread.
class RunTimes {
public:
    /// Without `measures`, no other function may be called.
    RunTimes(IdSource& source, bool measures) noexcept : source_(&source), measures_(measures) {}
    /// Returns the times of a run inside a task of this one.
    RunTimes inner() const noexcept {
        RunTimes times(*source_, measures_);
        times.unix_offset_us_ = unix_offset_us_;
        times.read_at_ = read_at_;
        times.has_read_ = has_read_;
        return times;
    }

    bool measures() const noexcept { return measures_; }
    MomentUs now() const {
        return std::chrono::floor<std::chrono::microseconds>(source_->steady().time_since_epoch()).count();
    }
    /// Returns microseconds since 1970, by the last reading of the wall clock.
    std::int64_t unixUs(MomentUs moment) const noexcept { return moment + unix_offset_us_; }

    /// Call it when the tasks of the next superstep are about to begin. `is_anew` says that something other than the
    /// run may have taken time since the last commit.
    void beginSuperstep(bool is_anew) {
        if (knows_beginning_ && !is_anew) return;
        began_ = now();
        readWallClock(began_);
    }
    MomentUs began() const noexcept { return began_; }

    /// Call it when a checkpoint is created. Returns the current time.
    MomentUs makeCheckpoint() {
        const MomentUs at = now();
        readWallClock(at);
        return at;
    }
    /// Returns what the commit of a superstep that was created at this time says.
    std::uint64_t superstepUs(MomentUs at) const noexcept { return since(began_, at); }
    std::optional<std::uint64_t> commitUs() const noexcept { return commit_us_; }
    /// Call it when the checkpoint has been stored, or passed to the queue that stores it.
    void noteStored(MomentUs at) {
        began_ = now();
        knows_beginning_ = true;
        commit_us_ = since(at, began_);
    }

    /// With exit durability: the checkpoint was not stored, and no time was spent on storing it.
    void noteKept(MomentUs at, bool is_superstep) noexcept {
        if (is_superstep) folded_us_ += since(began_, at);
        has_folded_ = has_folded_ || is_superstep;
        began_ = at;
        knows_beginning_ = true;
    }
    bool hasFolded() const noexcept { return has_folded_; }
    std::uint64_t foldedUs() const noexcept { return folded_us_; }

private:
    static std::uint64_t since(MomentUs from, MomentUs to) noexcept {
        return to > from ? static_cast<std::uint64_t>(to - from) : 0;
    }
    // Where supersteps are short, only few of them read the wall clock. Where they are long, each does, because the
    // clock may have been set, or the machine may have slept.
    void readWallClock(MomentUs at) {
        constexpr MomentUs read_every_us = 1000;
        if (has_read_ && at - read_at_ < read_every_us && at >= read_at_) return;
        unix_offset_us_ = times::nowUs(*source_) - at;
        read_at_ = at;
        has_read_ = true;
    }

    IdSource* source_;
    std::int64_t unix_offset_us_ = 0;
    MomentUs read_at_ = 0;
    MomentUs began_ = 0;
    std::optional<std::uint64_t> commit_us_ = {};
    std::uint64_t folded_us_ = 0;
    bool measures_;
    bool has_read_ = false;
    bool knows_beginning_ = false;
    bool has_folded_ = false;
};

}  // namespace stategraph::engine
