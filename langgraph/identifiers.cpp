#include "langgraph/identifiers.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/string_generator.hpp>
#include <boost/uuid/uuid_io.hpp>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/ids.hpp>

#include "src/value/times.hpp"

namespace stategraph::langgraph {

namespace {

constexpr const char* graphs_namespace = "6ba7b821-9dad-11d1-80b4-00c04fd430c8";

/// Counts milliseconds since 1970 in 4096ths, so that ids ascend also within a millisecond.
class Ticks {
public:
    std::uint64_t next() {
        const auto since = std::chrono::system_clock::now().time_since_epoch();
        const auto us =
            static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
        const std::uint64_t ticks = (us / 1000) * 4096 + (us % 1000) * 4096 / 1000;
        const stategraph::detail::LockGuard lock(mutex_);
        last_ = std::max(last_ + 1, ticks);
        return last_;
    }

private:
    stategraph::detail::Mutex mutex_;
    std::uint64_t last_ SG_GUARDED_BY(mutex_) = 0;
};

std::uint64_t randomBits() {
    thread_local std::random_device source;
    return (static_cast<std::uint64_t>(source()) << 32U) | source();
}

}  // namespace

std::string newId() {
    static Ticks ticks;
    const std::uint64_t time = ticks.next();
    const std::uint64_t high = ((time >> 12U) << 16U) | 0x7000U | (time & 0xFFFU);
    const std::uint64_t low = (randomBits() & 0x3FFF'FFFF'FFFF'FFFFU) | 0x8000'0000'0000'0000U;
    return CheckpointId(high, low).toString();
}

bool isUuid(std::string_view text) noexcept {
    if (text.size() != 36) return false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        const bool is_digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (is_dash ? c != '-' : !is_digit) return false;
    }
    return true;
}

std::string assistantOf(const std::string& graph_id) {
    const boost::uuids::uuid within = boost::uuids::string_generator()(graphs_namespace);
    return boost::uuids::to_string(boost::uuids::name_generator_sha1(within)(graph_id));
}

std::string now() { return isoTime(std::chrono::system_clock::now(), 6); }

std::string isoTime(std::chrono::system_clock::time_point time, int digits) {
    const auto since = time.time_since_epoch();
    return times::toIso(std::chrono::duration_cast<std::chrono::microseconds>(since).count(), digits);
}

}  // namespace stategraph::langgraph
