#include <stategraph/ndjson.hpp>

#include <algorithm>
#include <array>
#include <istream>
#include <limits>
#include <ostream>

#include <boost/json.hpp>

#include <stategraph/detail/json_reading.hpp>
#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "src/value/interrupts.hpp"
#include "src/value/times.hpp"

// Writes events as lines of JSON, and reads them back.
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

using Names = std::vector<std::pair<std::string, std::string>>;  // the library's names, and the names that replace them

std::string_view renamed(const Names& rename, std::string_view field) {
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

// Returns whether `inner` is the namespace `outer`, or one inside it.
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

// Reads a line into text_, with any kind of line end. Returns false at the end.
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

namespace {

std::string_view textOf(const json::value& text) { return {text.get_string().data(), text.get_string().size()}; }

/// The fields of one line, under the names that the reader was given. Errors: WrongTypeError with the line's number.
class LineFields {
public:
    LineFields(const json::object& object, std::uint64_t line, const Names& rename)
        : object_(object), line_(line), rename_(rename) {}

    const json::value* find(std::string_view field) const { return object_.if_contains(renamed(rename_, field)); }
    std::optional<std::string_view> text(std::string_view field) const {
        const json::value* const found = find(field);
        if (found == nullptr) return {};
        if (!found->is_string()) wrong(field, "a text");
        return textOf(*found);
    }
    std::optional<std::int64_t> integer(std::string_view field) const {
        const json::value* const found = find(field);
        if (found == nullptr) return {};
        if (!found->is_int64()) wrong(field, "an integer");
        return found->get_int64();
    }
    const json::array* list(std::string_view field, std::string_view expected) const {
        const json::value* const found = find(field);
        if (found != nullptr && !found->is_array()) wrong(field, expected);
        return found != nullptr ? &found->get_array() : nullptr;
    }
    [[noreturn]] void fail(const std::string& why) const { failLine(line_, why); }
    [[noreturn]] void wrong(std::string_view field, std::string_view expected) const {
        fail("its field '" + std::string(renamed(rename_, field)) + "' is not " + std::string(expected));
    }
    [[noreturn]] void missing(std::string_view field) const {
        fail("it has no field '" + std::string(renamed(rename_, field)) + "'");
    }

private:
    const json::object& object_;
    std::uint64_t line_;
    const Names& rename_;
};

StreamMode modeIn(const LineFields& fields) {
    const auto text = fields.text("mode");
    if (!text) fields.missing("mode");
    const auto known = modeOf(*text);
    if (!known) fields.fail("there is no mode '" + std::string(text->substr(0, 60)) + "'");
    return *known;
}

std::vector<std::string> namespaceIn(const LineFields& fields) {
    std::vector<std::string> ns;
    const json::array* const segments = fields.list("ns", "a list of texts");
    if (segments == nullptr) return ns;
    for (const json::value& segment : *segments) {
        if (!segment.is_string()) fields.wrong("ns", "a list of texts");
        ns.emplace_back(textOf(segment));
    }
    return ns;
}

int attemptIn(const LineFields& fields) {
    const json::value* const attempt = fields.find("attempt");
    if (attempt == nullptr) return HubEvent().attempt;
    if (!attempt->is_int64() || attempt->get_int64() < 0 || attempt->get_int64() > std::numeric_limits<int>::max())
        fields.wrong("attempt", "a number of an attempt");
    return static_cast<int>(attempt->get_int64());
}

std::vector<Interrupt> questionsIn(const LineFields& fields) {
    std::vector<Interrupt> questions;
    const json::array* const list = fields.list("interrupts", "a list of questions");
    if (list == nullptr) return questions;
    for (const json::value& each : *list) {
        const json::object* const asked = each.if_object();
        const json::value* const id = asked != nullptr ? asked->if_contains("id") : nullptr;
        const json::value* const index = asked != nullptr ? asked->if_contains("index") : nullptr;
        const json::value* const value = asked != nullptr ? asked->if_contains("value") : nullptr;
        const json::value* const key = asked != nullptr ? asked->if_contains("key") : nullptr;
        if (id == nullptr || !id->is_string() || index == nullptr || !index->is_int64() || index->get_int64() < 0 ||
            (key != nullptr && !key->is_string()))
            fields.wrong("interrupts", R"(a list of {"id", "index", "value"}, with "key" for a question that has one)");
        questions.push_back({TaskId(textOf(*id)), static_cast<std::uint64_t>(index->get_int64()),
                             value != nullptr ? valueOf(*value) : Value(),
                             key != nullptr ? std::string(textOf(*key)) : std::string()});
    }
    return questions;
}

}  // namespace

std::optional<HubEvent> NdjsonReader::next() {
    do {
        if (!readLine()) return {};
    } while (text_.find_first_not_of(" \t") == std::string::npos);
    const auto [parsed, error, at, members] = detail::readJson(text_, depth_max);
    if (error) failLine(line_, "it is not JSON (" + error.message() + ")");
    if (!parsed.is_object()) failLine(line_, "it is not an object");
    const LineFields fields(parsed.get_object(), line_, options_.rename);
    HubEvent event;
    event.mode = modeIn(fields);
    event.ns = namespaceIn(fields);
    if (const json::value* const data = fields.find("data")) event.data = valueOf(*data);
    if (const auto node = fields.text("node")) event.node = *node;
    event.step = fields.integer("step").value_or(event.step);
    if (const auto time = fields.integer("time")) event.time = times::ofUnixMs(*time);
    event.attempt = attemptIn(fields);
    if (const json::value* const durable = fields.find("durable")) {
        if (!durable->is_bool()) fields.wrong("durable", "true or false");
        event.durable = durable->get_bool();
    }
    try {
        if (const auto position = fields.text("position")) event.position = StreamPosition::parse(*position);
        event.interrupts = questionsIn(fields);
    } catch (const InvalidArgumentError& why) {
        fields.fail(why.message());
    }
    return event;
}

}  // namespace stategraph
