#include <algorithm>
#include <map>
#include <optional>
#include <sstream>

#include <boost/json.hpp>

#include <stategraph/json.hpp>
#include <stategraph/serve/protocol.hpp>

namespace stategraph::serve {
namespace {

namespace json = boost::json;

class OwnEvents final : public Encoder {
public:
    OwnEvents(StreamModes modes, const NdjsonOptions& options)
        : tells_runs_(modes.has(StreamMode::runs)), writer_(text_, options) {}

    void take(const HubEvent& event, std::vector<std::string>& lines) override {
        text_.str({});
        if (!writer_.write(event)) return;
        std::string line = text_.str();
        while (!line.empty() && line.back() == '\n') line.pop_back();
        lines.push_back(std::move(line));
        if (const auto end = endOf(event)) told_end_ = end->ending;
    }
    /// Reports the server's end to a client that follows a thread without a run, and the error of a run that was
    /// refused after the response had begun.
    void close(const Closing& closing, std::vector<std::string>& lines) override {
        if (!tells_runs_ || told_end_ == closing.ending) return;
        HubEvent event;
        event.mode = StreamMode::runs;
        event.step = -1;
        if (closing.ending == Status::drained) {
            event.data = Value(std::map<std::string, std::string>{{"event", "drain"}});
        } else if (closing.ending == Status::failed && !told_end_) {
            event.data = Value(json::value{{"error", closing.error},
                                           {"event", "end"},
                                           {"status", toString(Status::failed)},
                                           {"interrupts", json::array()},
                                           {"wake_unix_ms", nullptr},
                                           {"checkpoint_id", nullptr}});
        } else {
            return;
        }
        take(event, lines);
    }

private:
    const bool tells_runs_;
    std::optional<Status> told_end_;
    std::ostringstream text_;
    NdjsonWriter writer_;
};

json::value typed(const char* type) { return {{"type", type}}; }

/// The schema of the lines that NdjsonWriter writes for events of a hub.
std::string lineSchema(StreamModes modes, const NdjsonOptions& options) {
    json::array names;
    for (unsigned i = 0; i < stream_mode_count; ++i) {
        const auto mode = static_cast<StreamMode>(i);
        if (modes.has(mode)) names.emplace_back(toString(mode));
    }
    const json::value question{
        {"type", "object"},
        {"properties",
         {{"id", typed("string")}, {"index", typed("integer")}, {"value", json::object()}, {"key", typed("string")}}},
        {"required", {"id", "index", "value"}},
        {"additionalProperties", false}};
    const std::vector<std::pair<std::string, json::value>> members{
        {"ns", {{"type", "array"}, {"items", typed("string")}}},
        {"data", json::object()},
        {"mode", {{"enum", names}}},
        {"node", typed("string")},
        {"step", typed("integer")},
        {"time", typed("integer")},
        {"attempt", typed("integer")},
        {"durable", typed("boolean")},
        {"position", typed("string")},
        {"interrupts", {{"type", "array"}, {"items", question}}}};
    json::object properties;
    json::array required;
    for (const auto& [name, schema] : members) {
        if (std::find(options.omit.begin(), options.omit.end(), name) != options.omit.end()) continue;
        std::string called = name;
        for (const auto& [from, to] : options.rename) {
            if (from == name) called = to;
        }
        properties[called] = schema;
        if (name != "time" && name != "attempt" && name != "interrupts") required.emplace_back(called);
    }
    return json::serialize(json::value{{"type", "object"},
                                       {"properties", std::move(properties)},
                                       {"required", std::move(required)},
                                       {"additionalProperties", false}});
}

}  // namespace

Protocol ownEvents(StreamModes modes, NdjsonOptions options) {
    options.flush_every = 0;
    std::string schema = lineSchema(modes, options);
    return {.name = "events",
            .encoder = [modes, options] { return std::make_unique<OwnEvents>(modes, options); },
            .modes = modes,
            .line_schema = std::move(schema)};
}

}  // namespace stategraph::serve
