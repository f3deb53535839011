#include <stategraph/stream.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <ostream>
#include <string_view>
#include <utility>

#include <stategraph/detail/member_name.hpp>
#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>

// The names of the kinds of events; events as text; and what an event says about the end of a run.
namespace stategraph {
namespace {

template <StreamMode mode>
constexpr auto terminated_name = [] {
    constexpr std::string_view name = detail::memberName<mode>();
    static_assert(
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos,
        "stategraph: StreamMode has no enumerator of this number, or this compiler does not provide its name");
    std::array<char, name.size() + 1> text{};
    std::copy(name.begin(), name.end(), text.begin());
    return text;
}();

template <std::size_t... i>
constexpr std::array<const char*, sizeof...(i)> namesOfModes(std::index_sequence<i...>) {
    return {terminated_name<static_cast<StreamMode>(i)>.data()...};
}

/// Text, JSON, reading back (json/ndjson.cpp) and the server's names of modes all use the names of the enumerators.
constexpr auto mode_names = namesOfModes(std::make_index_sequence<stream_mode_count>());

Status endingNamed(std::string_view name) {
    if (const auto status = readStatus(name); status && Statuses::ofRuns().has(*status)) return *status;
    throw WrongTypeError("an event says that a run ended with '" + std::string(name.substr(0, 60)) +
                         "', which is not a known ending");
}

}  // namespace

const char* toString(StreamMode mode) noexcept {
    const auto number = static_cast<std::size_t>(mode);
    return number < mode_names.size() ? mode_names[number] : "?";
}

bool isRunEnd(const StreamEvent& event) {
    if (event.mode != StreamMode::runs) return false;
    Decoder in(event.data.bytes());
    return in.peek() == Decoder::Type::map && in.map() > 1;  // the event of a beginning contains nothing else
}

std::optional<EndOfRun> endOf(const StreamEvent& event) {
    if (!isRunEnd(event)) return {};
    EndOfRun end;
    end.interrupts = event.interrupts;
    Decoder in(event.data.bytes());
    for (std::size_t left = in.map(); left > 0; --left) {
        const std::string_view key = in.text();
        const bool is_text = in.peek() == Decoder::Type::text;
        if (key == "status" && is_text) {
            end.ending = endingNamed(in.text());
        } else if (key == "error" && is_text) {
            end.error = in.text();
        } else if (key == "checkpoint_id" && is_text) {
            end.checkpoint_id = CheckpointId(in.text());
        } else if (key == "wake_unix_ms" &&
                   (in.peek() == Decoder::Type::unsigned_integer || in.peek() == Decoder::Type::negative_integer)) {
            end.wake_time = std::chrono::system_clock::time_point(std::chrono::milliseconds(in.integer()));
        } else {
            in.skip();
        }
    }
    return end;
}

std::string toJson(const StreamEvent& event) {
    std::string cbor;
    Encoder out(cbor);
    out.map(5);
    out.text("ns");
    out.array(event.ns.size());
    for (const auto& segment : event.ns) out.text(segment);
    out.text("data");
    out.raw(event.data.bytes());
    out.text("mode");
    out.text(toString(event.mode));
    out.text("node");
    out.text(event.node);
    out.text("step");
    out.integer(event.step);
    return cborToJson(cbor);
}

std::ostream& operator<<(std::ostream& out, const StreamEvent& event) {
    for (const auto& segment : event.ns) out << segment << '|';
    return out << toString(event.mode) << ": " << event.data;
}

}  // namespace stategraph
