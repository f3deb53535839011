#include <charconv>
#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/stream_hub.hpp>

#include "src/stream/commit_events.hpp"

// Places in a thread's stream of durable events, and their text.
namespace stategraph {
namespace {

// Reads a number without a sign; false if there is none.
template <class Number>
bool takeNumber(std::string_view& text, Number& number) noexcept {
    if (text.empty() || text.front() < '0' || text.front() > '9') return false;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return error == std::errc();
}

bool takeSign(std::string_view& text, char sign) noexcept {
    if (!text.starts_with(sign)) return false;
    text.remove_prefix(1);
    return true;
}

}  // namespace

StreamPosition::StreamPosition(CheckpointId id) noexcept : sequence(stream::sequenceOf(id)) {}

StreamPosition::StreamPosition(std::int64_t of_checkpoint, std::vector<Inside> way, std::uint32_t within)
    : sequence(of_checkpoint), index(within) {
    if (way.empty()) return;
    if (way.size() > depth_max) {
        throw InvalidArgumentError("a place in a stream has a way of " + std::to_string(way.size()) +
                                   " steps inside, and may have " + std::to_string(depth_max));
    }
    way_ = std::make_shared<const std::vector<Inside>>(std::move(way));
}

std::span<const StreamPosition::Inside> StreamPosition::inside() const noexcept {
    return way_ ? std::span<const Inside>(*way_) : std::span<const Inside>();
}

// What is further inside comes first: it happened in the superstep that led to the checkpoint.
std::strong_ordering operator<=>(const StreamPosition& a, const StreamPosition& b) noexcept {
    if (const auto order = a.sequence <=> b.sequence; order != 0) return order;
    const auto of_a = a.inside();
    const auto of_b = b.inside();
    for (std::size_t i = 0; i < of_a.size() && i < of_b.size(); ++i) {
        if (const auto order = of_a[i] <=> of_b[i]; order != 0) return order;
    }
    if (const auto order = of_b.size() <=> of_a.size(); order != 0) return order;
    return a.index <=> b.index;
}

bool operator==(const StreamPosition& a, const StreamPosition& b) noexcept { return (a <=> b) == 0; }

StreamPosition StreamPosition::parse(std::string_view text) {
    std::string_view rest = text;
    std::int64_t sequence = 0;
    std::uint32_t index = whole;
    std::vector<Inside> way;
    bool good = takeNumber(rest, sequence);
    while (good && way.size() < depth_max && takeSign(rest, '/')) {
        Inside& step = way.emplace_back();
        good = takeNumber(rest, step.task) && takeSign(rest, '.') && takeNumber(rest, step.visit) &&
               takeSign(rest, '.') && takeNumber(rest, step.sequence);
    }
    if (good && takeSign(rest, '-')) good = takeNumber(rest, index);
    if (!good || !rest.empty()) {
        throw InvalidArgumentError("'" + std::string(text.substr(0, 60)) +
                                   "' is not a position in a stream; it must be as StreamPosition::toString writes it, "
                                   "such as 7165498368000123-0");
    }
    return {sequence, std::move(way), index};
}

std::string StreamPosition::toString() const {
    std::string text = std::to_string(sequence);
    for (const Inside& step : inside()) {
        text +=
            '/' + std::to_string(step.task) + '.' + std::to_string(step.visit) + '.' + std::to_string(step.sequence);
    }
    if (index != whole) text += "-" + std::to_string(index);
    return text;
}

}  // namespace stategraph
