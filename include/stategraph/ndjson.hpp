#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/stream_hub.hpp>

// Streams as newline-delimited JSON: one event a line, to be read in any language.
namespace stategraph {

/// Which events are written, and the fields of each line. These are "ns", "data", "mode", "node" and "step"; "time"
/// (milliseconds since 1970) and "attempt" where the event has them; for a HubEvent "durable" and "position"
/// (StreamPosition::toString; a text, because not every reader keeps integers of 53 bits); and "interrupts" if there
/// are some: [{"id", "index", "value"}…], with "key" for a question that has one.
struct NdjsonOptions {
    /// Writes only events of these modes; empty: all.
    StreamModes modes = {};
    /// Writes only events of these nodes; empty: all.
    std::vector<std::string> nodes = {};
    /// Writes only events of these namespaces and of those inside them, with "" for the root graph; none: all.
    std::optional<std::vector<std::string>> namespaces = {};
    /// Gives fields another name: {"data", "payload"}.
    std::vector<std::pair<std::string, std::string>> rename = {};
    /// Omits these fields.
    std::vector<std::string> omit = {};
    /// Flush the stream after this many lines; 0: never.
    std::size_t flush_every = 1;
};

/// Writes events to a stream. Not safe from several threads; a callback of `stream` is called by one at a time.
class NdjsonWriter {
public:
    /// The stream must outlive it. Errors: InvalidArgumentError for an unknown field, or for two fields of one name.
    explicit NdjsonWriter(std::ostream& out, NdjsonOptions options = {});

    /// Returns true if the event was written, false if it was filtered out. Errors: SaverError if the stream fails,
    /// WrongTypeError if the data is not JSON.
    bool write(const StreamEvent& event);
    bool write(const HubEvent& event);
    std::uint64_t lines() const noexcept { return lines_; }

private:
    bool wants(const StreamEvent& event) const;
    bool writeLine(const StreamEvent& event, const HubEvent* hub_event);

    std::ostream& out_;
    NdjsonOptions options_;
    std::string line_;
    std::uint64_t lines_ = 0;
};

/// How events are read.
struct NdjsonReaderOptions {
    /// Longer lines are an error; at least 1.
    std::size_t line_bytes_max = 16U << 20U;
    /// The renamed fields, as the writer's.
    std::vector<std::pair<std::string, std::string>> rename = {};
};

/// Reads events back. Blank lines are skipped and unknown fields ignored; missing fields have the values of a new
/// event. Only "mode" is required. What JSON cannot say (bytes, NaN) comes back as the writer wrote it. Not safe from
/// several threads.
class NdjsonReader {
public:
    explicit NdjsonReader(std::istream& in, NdjsonReaderOptions options = {});

    /// The next event; none at the end. If the line does not have them, `durable` is false and `position` is the
    /// beginning. Errors: WrongTypeError naming the number of the line, and what is wrong with it: no JSON, nested
    /// deeper than 200, a field of another type, an unknown mode, longer than allowed, or cut off in the middle. The
    /// next call reads the line after it.
    std::optional<HubEvent> next();
    /// The number of the line that was read last, from 1.
    std::uint64_t line() const noexcept { return line_; }

private:
    bool readLine();

    std::istream& in_;
    NdjsonReaderOptions options_;
    std::string text_;
    std::uint64_t line_ = 0;
};

}  // namespace stategraph
