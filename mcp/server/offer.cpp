#include "mcp/server/offer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <stategraph/detail/json_reading.hpp>
#include <stategraph/error.hpp>

namespace stategraph::mcp::detail {

namespace json = boost::json;

namespace {

constexpr std::size_t page_max = 100;
constexpr std::size_t name_max = 128;

json::object schemaIn(const std::string& text, const ServedTool& tool) {
    json::value read = stategraph::detail::readJson(text, 512).value;
    if (!read.is_object())
        throw InvalidArgumentError("the parameters of the tool '" + tool.name() + "' are not a JSON Schema");
    json::object schema = std::move(read.get_object());
    if (const json::value* const type = schema.if_contains("type"); type == nullptr) schema["type"] = "object";
    if (schema["type"] != "object")
        throw InvalidArgumentError("the parameters of the tool '" + tool.name() +
                                   "' are not a JSON Schema of an object, which arguments are");
    return schema;
}

void leaveOnly(const std::vector<std::string>& channels, json::object& properties, const ServedTool& tool) {
    json::object some;
    for (const std::string& each : channels) {
        json::value* const found = properties.if_contains(each);
        if (found == nullptr && !properties.empty())
            throw InvalidArgumentError("the tool '" + tool.name() + "' has no input channel '" + each +
                                       "'; see ServedOptions::input_channels");
        some[each] = found == nullptr ? json::value(json::object()) : std::move(*found);
    }
    properties = std::move(some);
}

json::object answersSchema() {
    const json::object answer{{"type", "object"},
                              {"properties", {{"id", {{"type", "string"}}}, {"value", json::object()}}},
                              {"required", json::array{"id", "value"}}};
    return {{"type", "array"}, {"items", answer}, {"description", "Answers to open questions of the thread, by id"}};
}

json::object argumentsSchema(const ServedTool& tool) {
    json::object schema = schemaIn(tool.inputSchema(), tool);
    json::value& given = schema["properties"];
    if (!given.is_object()) given = json::object();
    json::object& properties = given.get_object();
    if (tool.options().input_channels) leaveOnly(*tool.options().input_channels, properties, tool);
    if (!tool.keepsThreads()) return schema;
    for (const std::string_view name : {thread_argument, resume_argument, answers_argument}) {
        if (properties.contains(name))
            throw InvalidArgumentError("the input of the graph '" + tool.name() + "' has the channel '" +
                                       std::string(name) +
                                       "', which is the name of an argument of every graph with a saver; rename it");
    }
    properties[thread_argument] = {
        {"type", "string"},
        {"description", "Continues the thread of an earlier call; without other arguments, what is left of it"}};
    properties[resume_argument] = {{"description", "The answer to the open question of the thread"}};
    properties[answers_argument] = answersSchema();
    return schema;
}

json::object annotationsOf(const ServedOptions& options) {
    json::object all;
    if (options.read_only) all["readOnlyHint"] = *options.read_only;
    if (options.destructive) all["destructiveHint"] = *options.destructive;
    if (options.idempotent) all["idempotentHint"] = *options.idempotent;
    return all;
}

json::object entryOf(const ServedTool& tool) {
    json::object entry{{"name", tool.name()}};
    const ServedOptions& options = tool.options();
    if (!options.title.empty()) entry["title"] = options.title;
    if (!options.description.empty()) entry["description"] = options.description;
    entry["inputSchema"] = argumentsSchema(tool);
    const json::value output = stategraph::detail::readJson(tool.outputSchema(), 512).value;
    const json::object* const schema = output.if_object();
    if (schema != nullptr && schema->contains("properties")) entry["outputSchema"] = *schema;
    if (json::object all = annotationsOf(options); !all.empty()) entry["annotations"] = std::move(all);
    return entry;
}

bool isName(std::string_view name) noexcept {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
               c == '.';
    };
    return !name.empty() && name.size() <= name_max && std::ranges::all_of(name, fits);
}

}  // namespace

Offer::Offer(ServerOptions options) : options_(std::move(options)) {
    if (options_.name.empty()) throw InvalidArgumentError("an MCP server needs a name; set ServerOptions::name");
    if (options_.calls_max == 0) throw InvalidArgumentError("ServerOptions::calls_max is at least 1");
}

json::object Offer::info() const { return {{"name", options_.name}, {"version", options_.version}}; }

void Offer::add(std::shared_ptr<const ServedTool> tool) {
    const std::string& name = tool->name();
    if (!isName(name))
        throw InvalidArgumentError("'" + name +
                                   "' cannot be the name of a tool: it has 1 to 128 letters, digits, '_', '-' and '.'");
    json::object entry = entryOf(*tool);
    const stategraph::detail::LockGuard lock(mutex_);
    const auto at = std::ranges::lower_bound(tools_, name, {}, [](const Listed& each) { return each.tool->name(); });
    if (at != tools_.end() && at->tool->name() == name)
        throw InvalidArgumentError("the server has two tools called '" + name + "'; rename one");
    tools_.insert(at, Listed{std::move(tool), std::move(entry)});
}

std::shared_ptr<const ServedTool> Offer::find(std::string_view name) const {
    const stategraph::detail::LockGuard lock(mutex_);
    for (const Listed& each : tools_) {
        if (each.tool->name() == name) return each.tool;
    }
    return nullptr;
}

std::optional<json::object> Offer::page(std::string_view cursor) const {
    const stategraph::detail::LockGuard lock(mutex_);
    auto at = tools_.begin();
    if (!cursor.empty()) {
        at =
            std::ranges::find(tools_, cursor, [](const Listed& each) -> std::string_view { return each.tool->name(); });
        if (at == tools_.end()) return {};
        ++at;
    }
    json::array some;
    for (; at != tools_.end() && some.size() < page_max; ++at) some.push_back(at->entry);
    json::object page;
    if (at != tools_.end()) page["nextCursor"] = std::prev(at)->tool->name();
    page["tools"] = std::move(some);
    return page;
}

}  // namespace stategraph::mcp::detail
