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

#include "langgraph/api_error.hpp"
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

namespace {

/// Reads the parts of a time.
class TimeReader {
public:
    explicit TimeReader(std::string_view text) : text_(text), rest_(text) {}

    std::chrono::system_clock::time_point read() {
        using namespace std::chrono;
        const auto years = year(number(4));
        need('-');
        const auto months = month(static_cast<unsigned>(number(2)));
        need('-');
        const year_month_day date(years, months, day(static_cast<unsigned>(number(2))));
        if (!date.ok() || (!skip('T') && !skip(' '))) refuse();
        microseconds time = hours(number(2));
        need(':');
        time += minutes(number(2));
        if (skip(':')) time += seconds(number(2));
        if (skip('.')) time += fraction();
        if (time > days(1)) refuse();
        return sys_days(date) + time - offset();
    }

private:
    [[noreturn]] void refuse() const {
        throw InvalidRequest("'" + std::string(text_.substr(0, 40)) +
                             "' is no time of ISO 8601, such as 2026-01-31T12:00:00Z");
    }
    bool skip(char wanted) {
        if (!rest_.starts_with(wanted)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    void need(char wanted) {
        if (!skip(wanted)) refuse();
    }
    int number(std::size_t digits) {
        int value = 0;
        for (std::size_t i = 0; i < digits; ++i) {
            if (rest_.empty() || rest_.front() < '0' || rest_.front() > '9') refuse();
            value = value * 10 + (rest_.front() - '0');
            rest_.remove_prefix(1);
        }
        return value;
    }
    std::chrono::microseconds fraction() {
        std::chrono::microseconds all(0);
        std::chrono::microseconds unit(100'000);
        while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
            all += unit * (rest_.front() - '0');
            unit /= 10;
            rest_.remove_prefix(1);
        }
        return all;
    }
    std::chrono::minutes offset() {
        const bool is_west = rest_.starts_with('-');
        if (rest_.empty() || (rest_ == "Z")) return {};
        if (!is_west && !rest_.starts_with('+')) refuse();
        rest_.remove_prefix(1);
        std::chrono::minutes offset = std::chrono::hours(number(2));
        (void)skip(':');
        offset += std::chrono::minutes(number(2));
        if (!rest_.empty()) refuse();
        return is_west ? -offset : offset;
    }

    std::string_view text_;
    std::string_view rest_;
};

}  // namespace

std::chrono::system_clock::time_point timeOf(std::string_view text) { return TimeReader(text).read(); }

}  // namespace stategraph::langgraph
