#include "langgraph/assistants.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/identifiers.hpp"
#include "langgraph/live_runs.hpp"
#include "langgraph/run_request.hpp"
#include "langgraph/thread_view.hpp"

// Assistants: graphs with settings. Each graph has one of its own, which is stored only when it was changed.
namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

constexpr std::size_t versions_max = 100;
constexpr std::size_t threads_at_once = 500;

json::object versionJson(const AssistantRecord& assistant, const std::string& created_at) {
    return {{"assistant_id", assistant.assistant_id},
            {"graph_id", assistant.graph_id},
            {"version", assistant.version},
            {"name", assistant.name},
            {"description", assistant.description},
            {"config", assistant.config},
            {"context", assistant.context},
            {"metadata", assistant.metadata},
            {"created_at", created_at}};
}

json::object assistantJson(const AssistantRecord& assistant) {
    json::object shown = versionJson(assistant, assistant.created_at);
    shown["updated_at"] = assistant.updated_at;
    return shown;
}

AssistantRecord systemAssistant(const Service& service, const ServedGraph& graph) {
    AssistantRecord assistant{.assistant_id = assistantOf(graph.id),
                              .graph_id = graph.id,
                              .created_at = service.began_at,
                              .updated_at = service.began_at,
                              .name = graph.id,
                              .metadata = {{"created_by", "system"}}};
    assistant.versions.push_back(versionJson(assistant, assistant.created_at));
    return assistant;
}

bool isVisible(const AssistantRecord& assistant, const std::string& asking) {
    return assistant.owner.empty() || assistant.owner == asking;
}

/// One that the client may change: its own, or if nothing belongs to users any.
AssistantRecord ownAssistant(const Call& call) {
    AssistantRecord assistant = findAssistant(call, call.id(0));
    if (assistant.owner != call.owner())
        throw ApiError(403, "The assistant belongs to the server; make one of your own");
    return assistant;
}

/// All that the client may see, the newest first.
std::vector<AssistantRecord> visibleTo(const Call& call) {
    const Service& service = call.service();
    const std::string asking = call.owner();
    std::vector<AssistantRecord> all;
    service.records.forEachAssistant([&](AssistantRecord&& each) {
        if (isVisible(each, asking)) all.push_back(std::move(each));
    });
    for (const auto& [id, graph] : service.graphs) {
        const std::string own = assistantOf(id);
        if (std::ranges::find(all, own, &AssistantRecord::assistant_id) == all.end())
            all.push_back(systemAssistant(service, *graph));
    }
    return all;
}

std::vector<AssistantRecord> matching(const Call& call, const Body& body) {
    std::vector<AssistantRecord> all = visibleTo(call);
    const std::optional<std::string> graph_id = body.text("graph_id");
    std::string name = body.text("name", "");
    const auto lower = [](std::string& text) {
        std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    };
    lower(name);
    const json::object metadata = body.object("metadata");
    std::erase_if(all, [&](const AssistantRecord& each) {
        std::string called = each.name;
        lower(called);
        return (graph_id && each.graph_id != *graph_id) || called.find(name) == std::string::npos ||
               !contains(each.metadata, metadata);
    });
    return all;
}

void sort(std::vector<AssistantRecord>& assistants, const std::string& by, bool ascends) {
    const auto key = [&](const AssistantRecord& each) {
        const std::string& text = by == "assistant_id" ? each.assistant_id
                                  : by == "graph_id"   ? each.graph_id
                                  : by == "name"       ? each.name
                                  : by == "updated_at" ? each.updated_at
                                                       : each.created_at;
        return std::pair(text, each.assistant_id);
    };
    std::ranges::sort(assistants, [&](const AssistantRecord& a, const AssistantRecord& b) {
        return ascends ? key(a) < key(b) : key(b) < key(a);
    });
}

serve::HandlerAnswer searchAssistants(const Call& call) {
    const Body body = call.bodyIfGiven();
    const std::size_t limit = body.number("limit", 1, 1000).value_or(10);
    const std::size_t offset = body.number("offset", 0, SIZE_MAX / 2).value_or(0);
    std::vector<AssistantRecord> found = matching(call, body);
    sort(found, body.choice("sort_by", {"created_at", "updated_at", "assistant_id", "graph_id", "name"}),
         body.choice("sort_order", {"desc", "asc"}) == "asc");
    const std::vector<std::string> select = body.texts("select");
    json::array page;
    for (std::size_t i = offset; i < found.size() && page.size() < limit; ++i)
        page.push_back(selected(assistantJson(found[i]), select));
    return pageOf(std::move(page), offset, found.size());
}

serve::HandlerAnswer countAssistants(const Call& call) {
    return answerOf(json::value(matching(call, call.bodyIfGiven()).size()));
}

serve::HandlerAnswer getAssistant(const Call& call) { return answerOf(assistantJson(findAssistant(call, call.id(0)))); }

serve::HandlerAnswer createAssistant(const Call& call) {
    call.countStored();
    const Body body = call.body();
    const Service& service = call.service();
    const std::optional<std::string> graph_id = body.text("graph_id");
    if (!graph_id) body.refuse("graph_id", "is required");
    if (service.graph(*graph_id) == nullptr) throw NotFound("This server has no graph '" + *graph_id + "'");
    AssistantRecord assistant{.assistant_id = body.uuid("assistant_id").value_or(newId()),
                              .graph_id = *graph_id,
                              .owner = call.owner(),
                              .created_at = now(),
                              .name = body.text("name", "Untitled"),
                              .config = body.object("config"),
                              .context = body.object("context"),
                              .metadata = body.object("metadata")};
    if (const auto description = body.text("description")) assistant.description = *description;
    const std::string if_exists = body.choice("if_exists", {"raise", "do_nothing"});
    for (const AssistantRecord& each : visibleTo(call)) {
        if (each.assistant_id != assistant.assistant_id) continue;
        if (if_exists == "raise") throw ApiError(409, "Assistant already exists");
        return answerOf(assistantJson(each));
    }
    if (service.records.assistant(assistant.assistant_id)) throw ApiError(409, "Assistant already exists");
    assistant.updated_at = assistant.created_at;
    assistant.versions.push_back(versionJson(assistant, assistant.created_at));
    service.records.store(ApiRecords::Batch().put(assistant));
    return answerOf(assistantJson(assistant));
}

std::int64_t newestVersion(const AssistantRecord& assistant) {
    std::int64_t newest = assistant.version;
    for (const json::value& each : assistant.versions)
        newest = std::max(newest, each.at("version").to_number<std::int64_t>());
    return newest;
}

serve::HandlerAnswer patchAssistant(const Call& call) {
    call.countStored();
    const Body body = call.body();
    AssistantRecord assistant = ownAssistant(call);
    if (const auto graph_id = body.text("graph_id")) {
        if (call.service().graph(*graph_id) == nullptr) throw NotFound("This server has no graph '" + *graph_id + "'");
        assistant.graph_id = *graph_id;
    }
    if (body.has("config")) assistant.config = body.object("config");
    if (body.has("context")) assistant.context = body.object("context");
    assistant.name = body.text("name", assistant.name);
    if (const auto description = body.text("description")) assistant.description = *description;
    assistant.metadata = merged(std::move(assistant.metadata), body.object("metadata"));
    assistant.version = newestVersion(assistant) + 1;
    assistant.updated_at = now();
    assistant.versions.push_back(versionJson(assistant, assistant.updated_at));
    // All of them are in one record; the oldest are forgotten.
    if (assistant.versions.size() > versions_max) assistant.versions.erase(assistant.versions.begin());
    call.service().records.store(ApiRecords::Batch().put(assistant));
    return answerOf(assistantJson(assistant));
}

/// Deletes some threads that an assistant has had its runs on. Returns false if there are none.
bool removeSomeThreads(const Call& call, const AssistantRecord& assistant) {
    const std::string owner = call.owner();
    std::vector<ThreadRecord> threads;
    // They are listed page by page, so none is deleted meanwhile.
    call.service().records.forEachThread([&](ThreadRecord&& each) {
        const json::value* const whose = each.metadata.if_contains("assistant_id");
        if (whose != nullptr && *whose == json::value(assistant.assistant_id) && each.owner == owner)
            threads.push_back(std::move(each));
        return threads.size() < threads_at_once;
    });
    const auto is_busy = [&](const ThreadRecord& each) { return call.service().runs->isBusy(each.thread_id); };
    if (std::ranges::any_of(threads, is_busy))
        throw ApiError(409, "A thread of the assistant is busy; cancel its runs before you delete it");
    for (const ThreadRecord& each : threads) removeThread(call.service(), each);
    return !threads.empty();
}

serve::HandlerAnswer deleteAssistant(const Call& call) {
    const AssistantRecord assistant = ownAssistant(call);
    if (assistant.assistant_id == assistantOf(assistant.graph_id))
        throw ApiError(403, "The assistant belongs to its graph, and cannot be deleted");
    if (call.flag("delete_threads")) {
        while (removeSomeThreads(call, assistant)) {
        }
    }
    call.service().records.removeAssistant(assistant.assistant_id);
    return answerOf(json::array{assistant.assistant_id});
}

serve::HandlerAnswer listVersions(const Call& call) {
    const Body body = call.bodyIfGiven();
    const std::size_t limit = body.number("limit", 1, 1000).value_or(10);
    const std::size_t offset = body.number("offset", 0, SIZE_MAX / 2).value_or(0);
    const json::object metadata = body.object("metadata");
    const AssistantRecord assistant = findAssistant(call, call.id(0));
    json::array page;
    std::size_t seen = 0;
    for (auto each = assistant.versions.rbegin(); each != assistant.versions.rend(); ++each) {
        if (!contains(each->at("metadata"), metadata) || seen++ < offset) continue;
        if (page.size() < limit) page.push_back(*each);
    }
    return answerOf(std::move(page));
}

serve::HandlerAnswer setLatestVersion(const Call& call) {
    const auto version = call.body().number("version", 1, INT64_MAX);
    if (!version) call.body().refuse("version", "is required");
    AssistantRecord assistant = ownAssistant(call);
    const auto wanted = std::ranges::find_if(assistant.versions, [&](const json::value& each) {
        return each.at("version").to_number<std::size_t>() == *version;
    });
    if (wanted == assistant.versions.end()) throw NotFound("Assistant version not found");
    const json::object chosen = wanted->get_object();
    assistant.version = static_cast<std::int64_t>(*version);
    assistant.graph_id = json::value_to<std::string>(chosen.at("graph_id"));
    assistant.name = json::value_to<std::string>(chosen.at("name"));
    assistant.description = chosen.at("description");
    assistant.config = chosen.at("config").as_object();
    assistant.context = chosen.at("context").as_object();
    assistant.metadata = chosen.at("metadata").as_object();
    assistant.updated_at = now();
    call.service().records.store(ApiRecords::Batch().put(assistant));
    return answerOf(assistantJson(assistant));
}

const ServedGraph& graphOf(const Call& call) {
    const AssistantRecord assistant = findAssistant(call, call.id(0));
    const ServedGraph* const graph = call.service().graph(assistant.graph_id);
    if (graph == nullptr) throw NotFound("This server has no graph '" + assistant.graph_id + "'");
    return *graph;
}

serve::HandlerAnswer getDrawing(const Call& call) {
    const std::string xray = call.parameter("xray");
    std::size_t depth = 0;
    if (xray == "true") {
        depth = SIZE_MAX;
    } else if (!xray.empty() && xray != "false") {
        depth = numberOf("xray", xray, 0, 1000);
    }
    return answerOf(drawingJson(graphOf(call).channels, depth));
}

serve::HandlerAnswer getSchemas(const Call& call) { return answerOf(schemasJson(graphOf(call))); }

serve::HandlerAnswer getSubgraphs(const Call& call) {
    return answerOf(subgraphsJson(graphOf(call), {}, call.flag("recurse")));
}

serve::HandlerAnswer getSubgraph(const Call& call) {
    return answerOf(subgraphsJson(graphOf(call), call.id(1), call.flag("recurse")));
}

}  // namespace

AssistantRecord findAssistant(const Call& call, const std::string& id) {
    const Service& service = call.service();
    const ServedGraph* const named = service.graph(id);
    const std::string assistant_id = named != nullptr ? assistantOf(id) : id;
    if (const auto stored = service.records.assistant(assistant_id)) {
        if (isVisible(*stored, call.owner())) return *stored;
    }
    for (const auto& [graph_id, graph] : service.graphs) {
        if (assistantOf(graph_id) == assistant_id) return systemAssistant(service, *graph);
    }
    throw NotFound("No assistant found for \"" + id +
                   "\". Make sure the assistant ID is for a valid assistant or a valid graph ID.");
}

std::span<const Row> assistantRows() {
    static constexpr Row rows[] = {
        {"POST", "/assistants", &createAssistant},           {"POST", "/assistants/search", &searchAssistants},
        {"POST", "/assistants/count", &countAssistants},     {"GET", "/assistants/:id", &getAssistant},
        {"PATCH", "/assistants/:id", &patchAssistant},       {"DELETE", "/assistants/:id", &deleteAssistant},
        {"POST", "/assistants/:id/versions", &listVersions}, {"POST", "/assistants/:id/latest", &setLatestVersion},
        {"GET", "/assistants/:id/graph", &getDrawing},       {"GET", "/assistants/:id/schemas", &getSchemas},
        {"GET", "/assistants/:id/subgraphs", &getSubgraphs}, {"GET", "/assistants/:id/subgraphs/:id", &getSubgraph},
    };
    return rows;
}

}  // namespace stategraph::langgraph
