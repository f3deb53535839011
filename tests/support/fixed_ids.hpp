#pragma once
#include <chrono>
#include <memory>

#include <stategraph/id_source.hpp>

/// A clock that stands still and random bits that never change, so that what a run stores depends only on what it does.
class FixedIds final : public stategraph::IdSource {
public:
    std::chrono::system_clock::time_point now() override {
        return std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
    }
    std::uint64_t uniqueBits() override { return 0x0123'4567'89AB'CDEF; }

    static std::shared_ptr<stategraph::IdSource> make() { return std::make_shared<FixedIds>(); }
};
