#include "src/commit/ids.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "src/threads/fork.hpp"
#include "src/value/bytes.hpp"
#include "src/value/lasting.hpp"
#include "src/value/times.hpp"

namespace stategraph {
namespace {

class SystemIdSource final : public IdSource {
public:
    std::chrono::system_clock::time_point now() override { return std::chrono::system_clock::now(); }
    std::uint64_t uniqueBits() override { return engine::randomBits(); }
    std::chrono::steady_clock::time_point steady() override { return std::chrono::steady_clock::now(); }
};

}  // namespace

IdSource& IdSource::system() {
    static engine::Lasting<SystemIdSource> source;
    return *source;
}

}  // namespace stategraph

namespace stategraph::engine {
namespace {

constexpr std::uint64_t variant(std::uint64_t bits) { return (bits & 0x3FFFFFFFFFFFFFFFULL) | 0x8000000000000000ULL; }

}  // namespace

IdSequence::IdSequence(IdSource& source, std::uint64_t low_bits) noexcept : source_(&source), low_(variant(low_bits)) {}

// An id cannot hold a time before 1970, and the latest time must leave room for ascending ids.
CheckpointId IdSequence::next() { return next(times::nowUs(*source_)); }

CheckpointId IdSequence::next(std::int64_t now_us) {
    constexpr std::int64_t latest_us = (std::int64_t{1} << 47U) * 1000;  // half of the range of 48 bits of milliseconds
    const auto us = static_cast<std::uint64_t>(std::clamp<std::int64_t>(now_us, 0, latest_us));
    const std::uint64_t now = ((us / 1000) << 12U) | (us % 1000 * 4096 / 1000);
    tick_ = now > tick_ ? now : tick_ + 1;
    return {(tick_ >> 12U) << 16U | 0x7000U | (tick_ & 0xFFFU), low_};
}

void IdSequence::observe(CheckpointId id) noexcept {
    const std::uint64_t tick = (id.high() >> 16U) << 12U | (id.high() & 0xFFFU);
    if (tick > tick_) tick_ = tick;
}

IdSequence IdSequence::inner(TaskId task) const noexcept {
    IdSequence sequence(*source_, task.low());
    sequence.tick_ = tick_;
    return sequence;
}

TaskId makeTaskId(const TaskKey& key) {
    // Every part is followed by its length, so that different parts never make the same bytes.
    constexpr std::size_t fixed_size = 24;
    char fixed[fixed_size];
    key.checkpoint_id.toBytes(fixed);
    detail::storeLittleEndian(static_cast<std::uint64_t>(key.step), fixed + 16);
    const auto parts = {key.checkpoint_ns, key.node, key.path};
    const auto hashOf = [](XXH128_hash_t hash) { return TaskId(hash.high64, hash.low64); };

    // Nearly all keys are short. Their bytes are hashed in one piece, which gives the same hash at a fraction of the
    // cost.
    std::array<char, 240> bytes;
    std::size_t size_of_all = fixed_size;
    for (const std::string_view part : parts) size_of_all += part.size() + sizeof(std::uint64_t);
    if (size_of_all <= bytes.size()) {
        char* end = std::copy_n(fixed, fixed_size, bytes.data());
        for (const std::string_view part : parts) {
            const std::uint64_t size = part.size();
            end = std::copy(part.begin(), part.end(), end);
            std::memcpy(end, &size, sizeof size);
            end += sizeof size;
        }
        return hashOf(XXH3_128bits(bytes.data(), size_of_all));
    }
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, fixed, sizeof fixed);
    for (const std::string_view part : parts) {
        const std::uint64_t size = part.size();
        XXH3_128bits_update(&state, part.data(), part.size());
        XXH3_128bits_update(&state, &size, sizeof size);
    }
    return hashOf(XXH3_128bits_digest(&state));
}

TaskId nameWithin(TaskId task, std::string_view name) {
    return makeTaskId(
        {.checkpoint_id = {task.high(), task.low()}, .checkpoint_ns = {}, .step = 0, .node = {}, .path = name});
}

TaskId idOfQuestion(TaskId asker, std::string_view key) {
    return makeTaskId({.checkpoint_id = {asker.high(), asker.low()},
                       .checkpoint_ns = {},
                       .step = 0,
                       .node = "question",
                       .path = key});
}

TaskId idOfQuestion(TaskId asker, std::uint64_t number) {
    if (number == 0) return asker;
    return makeTaskId({.checkpoint_id = {asker.high(), asker.low()},
                       .checkpoint_ns = {},
                       .step = static_cast<std::int64_t>(number),
                       .node = "question",
                       .path = {}});
}

TaskId idOfCall(TaskId caller, std::string_view key) {
    return makeTaskId(
        {.checkpoint_id = {caller.high(), caller.low()}, .checkpoint_ns = {}, .step = 0, .node = "call", .path = key});
}

}  // namespace stategraph::engine
