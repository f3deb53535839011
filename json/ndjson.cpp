#include <stategraph/ndjson.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <istream>
#include <limits>
#include <ostream>

#include <boost/json.hpp>

#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "src/value/interrupts.hpp"
#include "src/value/times.hpp"

// Events as lines of JSON, and back.
namespace stategraph {
namespace {

namespace json = boost::json;

constexpr std::size_t depth_max = Decoder::depth_max;

constexpr std::array<std::string_view, 10> line_fields = {"ns",   "data",    "mode",    "node",     "step",
                                                          "time", "attempt", "durable", "position", "interrupts"};

void checkRename(const std::vector<std::pair<std::string, std::string>>& rename) {
    std::vector<std::string> names;
    for (const std::string_view field : line_fields) {
        const auto to =
            std::find_if(rename.begin(), rename.end(), [&](const auto& entry) { return entry.first == field; });
        names.emplace_back(to == rename.end() ? std::string(field) : to->second);
    }
    for (const auto& [from, to] : rename) {
        if (std::find(line_fields.begin(), line_fields.end(), from) == line_fields.end()) {
            throw InvalidArgumentError("an event's line has no field '" + from + "' that could be renamed");
        }
    }
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) throw InvalidArgumentError("an event's line would have two fields '" + *twice + "'");
}

std::string_view renamed(const std::vector<std::pair<std::string, std::string>>& rename, std::string_view field) {
    for (const auto& [from, to] : rename) {
        if (from == field) return to;
    }
    return field;
}

std::optional<StreamMode> modeOf(std::string_view name) {
    for (unsigned i = 0; i < stream_mode_count; ++i) {
        const auto mode = static_cast<StreamMode>(i);
        if (name == toString(mode)) return mode;
    }
    return {};
}

std::string joined(const std::vector<std::string>& ns) {
    std::string text;
    for (const auto& segment : ns) text += (text.empty() ? "" : "|") + segment;
    return text;
}

// Whether `inner` is the namespace `outer`, or one inside it.
bool isWithin(std::string_view inner, std::string_view outer) {
    if (outer.empty()) return inner.empty();
    return inner == outer || (inner.starts_with(outer) && (inner[outer.size()] == '|' || inner[outer.size()] == ':'));
}

[[noreturn]] void failLine(std::uint64_t line, const std::string& why) {
    throw WrongTypeError("line " + std::to_string(line) + " of a stream of events cannot be read: " + why);
}

Value valueOf(const json::value& from) { return Value(from); }

}  // namespace

NdjsonWriter::NdjsonWriter(std::ostream& out, NdjsonOptions options) : out_(out), options_(std::move(options)) {
    checkRename(options_.rename);
    for (const auto& field : options_.omit) {
        if (std::find(line_fields.begin(), line_fields.end(), field) == line_fields.end()) {
            throw InvalidArgumentError("an event's line has no field '" + field + "' that could be left out");
        }
    }
}

bool NdjsonWriter::wants(const StreamEvent& event) const {
    if (!options_.modes.empty() && !options_.modes.has(event.mode)) return false;
    if (!options_.nodes.empty() &&
        std::find(options_.nodes.begin(), options_.nodes.end(), event.node) == options_.nodes.end())
        return false;
    if (!options_.namespaces) return true;
    const std::string ns = joined(event.ns);
    return std::any_of(options_.namespaces->begin(), options_.namespaces->end(),
                       [&](const auto& wanted) { return isWithin(ns, wanted); });
}

bool NdjsonWriter::write(const StreamEvent& event) { return wants(event) && writeLine(event, nullptr); }
bool NdjsonWriter::write(const HubEvent& event) { return wants(event) && writeLine(event, &event); }

bool NdjsonWriter::writeLine(const StreamEvent& event, const HubEvent* hub_event) {
    std::string cbor;
    Encoder out(cbor);
    line_ = "{";
    const auto add = [&](std::string_view field, auto&& encode) {
        if (std::find(options_.omit.begin(), options_.omit.end(), field) != options_.omit.end()) return;
        cbor.clear();
        out.text(renamed(options_.rename, field));
        if (line_.size() > 1) line_ += ',';
        line_ += cborToJson(cbor);
        line_ += ':';
        cbor.clear();
        encode();
        line_ += cborToJson(cbor);
    };
    add("ns", [&] {
        out.array(event.ns.size());
        for (const auto& segment : event.ns) out.text(segment);
    });
    add("data", [&] { out.raw(event.data.bytes()); });
    add("mode", [&] { out.text(toString(event.mode)); });
    add("node", [&] { out.text(event.node); });
    add("step", [&] { out.integer(event.step); });
    if (event.time != StreamEvent().time) add("time", [&] { out.integer(times::unixMsDown(event.time)); });
    if (event.attempt > 0) add("attempt", [&] { out.integer(event.attempt); });
    if (hub_event != nullptr) {
        add("durable", [&] { out.boolean(hub_event->durable); });
        add("position", [&] { out.text(hub_event->position.toString()); });
    }
    if (!event.interrupts.empty()) {
        add("interrupts", [&] {
            out.array(event.interrupts.size());
            for (const Interrupt& each : event.interrupts) engine::encodeInterrupt(each, out);
        });
    }
    line_ += "}\n";
    out_.write(line_.data(), static_cast<std::streamsize>(line_.size()));
    ++lines_;
    if (options_.flush_every > 0 && lines_ % options_.flush_every == 0) out_.flush();
    if (!out_)
        throw SaverError("line " + std::to_string(lines_) +
                         " of a stream of events could not be written: the output failed");
    return true;
}

NdjsonReader::NdjsonReader(std::istream& in, NdjsonReaderOptions options) : in_(in), options_(std::move(options)) {
    checkRename(options_.rename);
    if (options_.line_bytes_max < 1)
        throw InvalidArgumentError("NdjsonReaderOptions::line_bytes_max is 0; it must be at least 1");
}

// A line into text_, whatever ends it. False at the end.
bool NdjsonReader::readLine() {
    text_.clear();
    std::streambuf* const from = in_.rdbuf();
    if (!in_ || from->sgetc() == std::char_traits<char>::eof()) return false;
    ++line_;
    bool too_long = false;
    for (int c = from->sbumpc(); c != std::char_traits<char>::eof() && c != '\n'; c = from->sbumpc()) {
        if (text_.size() < options_.line_bytes_max) {
            text_ += static_cast<char>(c);
        } else {
            too_long = true;
        }
    }
    if (too_long) {
        throw WrongTypeError("line " + std::to_string(line_) + " of a stream of events is longer than " +
                             std::to_string(options_.line_bytes_max) + " bytes (NdjsonReaderOptions::line_bytes_max)");
    }
    if (!text_.empty() && text_.back() == '\r') text_.pop_back();
    return true;
}

std::optional<HubEvent> NdjsonReader::next() {
    do {
        if (!readLine()) return {};
    } while (text_.find_first_not_of(" \t") == std::string::npos);
    const auto fail = [&](const std::string& why) { failLine(line_, why); };
    boost::system::error_code error;
    const json::value parsed = json::parse(text_, error, {}, {.max_depth = depth_max});
    if (error) fail("it is no JSON (" + error.message() + ")");
    const json::object* const object = parsed.if_object();
    if (object == nullptr) failLine(line_, "it is no object");
    const auto find = [&](std::string_view field) { return object->if_contains(renamed(options_.rename, field)); };
    const auto wrong = [&](std::string_view field, std::string_view expected) {
        fail("its field '" + std::string(renamed(options_.rename, field)) + "' is not " + std::string(expected));
    };
    HubEvent event;
    const json::value* const mode = find("mode");
    if (mode == nullptr) failLine(line_, "it has no field '" + std::string(renamed(options_.rename, "mode")) + "'");
    if (!mode->is_string()) wrong("mode", "a text");
    const auto known = modeOf(std::string_view(mode->get_string().data(), mode->get_string().size()));
    if (!known)
        fail("there is no mode '" +
             std::string(mode->get_string().data(), std::min<std::size_t>(mode->get_string().size(), 60)) + "'");
    event.mode = *known;
    if (const json::value* ns = find("ns")) {
        if (!ns->is_array()) wrong("ns", "a list of texts");
        for (const json::value& segment : ns->get_array()) {
            if (!segment.is_string()) wrong("ns", "a list of texts");
            event.ns.emplace_back(segment.get_string().data(), segment.get_string().size());
        }
    }
    if (const json::value* data = find("data")) event.data = valueOf(*data);
    if (const json::value* node = find("node")) {
        if (!node->is_string()) wrong("node", "a text");
        event.node.assign(node->get_string().data(), node->get_string().size());
    }
    if (const json::value* step = find("step")) {
        if (!step->is_int64()) wrong("step", "an integer");
        event.step = step->get_int64();
    }
    if (const json::value* time = find("time")) {
        if (!time->is_int64()) wrong("time", "an integer");
        event.time = times::ofUnixMs(time->get_int64());
    }
    if (const json::value* attempt = find("attempt")) {
        if (!attempt->is_int64() || attempt->get_int64() < 0 ||
            attempt->get_int64() > std::numeric_limits<int>::max()) {
            wrong("attempt", "a number of an attempt");
        }
        event.attempt = static_cast<int>(attempt->get_int64());
    }
    if (const json::value* durable = find("durable")) {
        if (!durable->is_bool()) wrong("durable", "true or false");
        event.durable = durable->get_bool();
    }
    if (const json::value* position = find("position")) {
        if (!position->is_string()) wrong("position", "a text");
        try {
            event.position = StreamPosition::parse({position->get_string().data(), position->get_string().size()});
        } catch (const InvalidArgumentError& why) {
            fail(why.message());
        }
    }
    if (const json::value* interrupts = find("interrupts")) {
        if (!interrupts->is_array()) wrong("interrupts", "a list of questions");
        for (const json::value& each : interrupts->get_array()) {
            const json::object* const asked = each.if_object();
            const json::value* const id = asked != nullptr ? asked->if_contains("id") : nullptr;
            const json::value* const index = asked != nullptr ? asked->if_contains("index") : nullptr;
            const json::value* const value = asked != nullptr ? asked->if_contains("value") : nullptr;
            if (id == nullptr || !id->is_string() || index == nullptr || !index->is_int64() || index->get_int64() < 0) {
                wrong("interrupts", R"(a list of {"id", "index", "value"})");
            }
            try {
                event.interrupts.push_back({TaskId(std::string_view(id->get_string().data(), id->get_string().size())),
                                            static_cast<std::uint64_t>(index->get_int64()),
                                            value != nullptr ? valueOf(*value) : Value()});
            } catch (const InvalidArgumentError& why) {
                fail(why.message());
            }
        }
    }
    return event;
}

}  // namespace stategraph
