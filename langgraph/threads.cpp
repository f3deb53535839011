#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/json.hpp>

#include "langgraph/api_error.hpp"
#include "langgraph/call.hpp"
#include "langgraph/identifiers.hpp"
#include "langgraph/live_runs.hpp"
#include "langgraph/run_request.hpp"
#include "langgraph/schedules.hpp"
#include "langgraph/thread_expiry.hpp"
#include "langgraph/thread_view.hpp"

// Threads: made, read, changed, copied and deleted. thread_search.cpp finds them.
namespace stategraph::langgraph {

serve::HandlerAnswer searchThreads(const Call& call);
serve::HandlerAnswer countThreads(const Call& call);

namespace json = boost::json;

namespace {

/// The edits of supersteps with which a thread begins.
std::vector<std::vector<detail::StateEdit>> editsIn(const json::value& supersteps, const ServedGraph& graph) {
    if (!supersteps.is_array()) throw InvalidRequest("supersteps: must be a list");
    std::vector<std::vector<detail::StateEdit>> all;
    for (const json::value& superstep : supersteps.get_array()) {
        const json::object* const object = superstep.if_object();
        const json::value* const updates = object != nullptr ? object->if_contains("updates") : nullptr;
        if (updates == nullptr || !updates->is_array())
            throw InvalidRequest("supersteps: each is an object with a list of \"updates\"");
        all.emplace_back();
        for (const json::value& each : updates->get_array()) {
            if (!each.is_object()) throw InvalidRequest("supersteps.updates: each is an object");
            const Body update(each.get_object(), "supersteps.updates.");
            detail::StateEdit edit{.as_node = update.text("as_node")};
            if (const json::value* const values = update.find("values"))
                edit.values = readUpdate(*values, graph, "supersteps.updates.values");
            if (const std::optional<Body> command = update.body("command")) {
                detail::RunStart given = readCommand(*command, graph);
                if (given.update) edit.values = std::move(given.update);
                edit.go_to = std::move(given.go_to);
            }
            all.back().push_back(std::move(edit));
        }
    }
    return all;
}

/// Has the end of a thread noticed when its time is over.
void expectEnd(const Call& call, const ThreadRecord& thread) {
    if (thread.ttl.count() > 0) call.service().schedules->expect(timeOf(thread.expires_at));
}

/// Stores a new thread, and the states with which it begins. Returns false if there is a thread of its id.
bool add(const Call& call, const ThreadRecord& thread, const json::value* supersteps, const ApiRecords::Batch& more) {
    if (supersteps == nullptr) return call.service().records.addThread(thread, more);
    const ServedGraph* const graph = call.graphOf(thread);
    if (graph == nullptr) throw InvalidRequest("supersteps: metadata.graph_id must name the graph of the thread");
    const auto edits = editsIn(*supersteps, *graph);
    if (!call.service().records.addThread(thread, more)) return false;
    if (edits.empty()) return true;
    try {
        (void)graph->graph->edit({.thread_id = ThreadId(thread.thread_id)}, edits);
    } catch (...) {
        call.service().records.removeThread(thread.thread_id);
        throw;
    }
    return true;
}

serve::HandlerAnswer createThread(const Call& call) {
    call.countStored();
    const Body body = call.bodyIfGiven();
    const Service& service = call.service();
    const std::optional<std::string> given = body.uuid("thread_id");
    const std::string if_exists = body.choice("if_exists", {"raise", "do_nothing"});
    const std::string owner = call.owner();
    ThreadRecord thread{
        .thread_id = given.value_or(newId()), .created_at = now(), .owner = owner, .metadata = body.object("metadata")};
    thread.updated_at = thread.created_at;
    const ApiRecords::Batch time = readTtl(body, service.clock->now(), thread);
    const auto is_added = [&] {
        if (!add(call, thread, body.find("supersteps"), time)) return false;
        expectEnd(call, thread);
        return true;
    };
    if (!given) {
        (void)is_added();
        return answerOf(threadJson(service, thread));
    }
    const auto existing = service.records.thread(*given);
    const bool is_free = !existing && !call.isAnothers(*given);
    if (is_free && is_added()) return answerOf(threadJson(service, thread));
    // Another request may have made it meanwhile.
    const auto other = existing ? existing : service.records.thread(*given);
    if (!other || if_exists == "raise" || other->owner != owner) throw ApiError(409, "Thread already exists");
    return answerOf(threadJson(service, *other));
}

serve::HandlerAnswer getThread(const Call& call) {
    const ThreadRecord thread = call.thread();
    json::object shown = threadJson(call.service(), thread);
    const std::vector<std::string> include = call.parameters("include");
    if (std::ranges::find(include, "ttl") != include.end()) shown["ttl"] = ttlJson(thread);
    return answerOf(shown);
}

serve::HandlerAnswer patchThread(const Call& call) {
    call.countStored();
    const Body body = call.body();
    const json::object metadata = body.object("metadata");
    ThreadRecord timed = call.thread();
    const ApiRecords::Batch time = readTtl(body, call.service().clock->now(), timed);
    const auto change = [&](ThreadRecord& thread) {
        thread.metadata = merged(std::move(thread.metadata), metadata);
        thread.updated_at = now();
        if (!body.has("ttl")) return;
        thread.ttl = timed.ttl;
        thread.keeps_latest = timed.keeps_latest;
        thread.expires_at = timed.expires_at;
    };
    const auto changed = call.service().records.editThread(call.id(0), change, time);
    if (!changed) throw NotFound("Thread with ID " + call.id(0) + " not found");
    expectEnd(call, *changed);
    if (call.request().request.header("Prefer").find("return=minimal") != std::string_view::npos) return noContent();
    return answerOf(threadJson(call.service(), *changed));
}

serve::HandlerAnswer deleteThread(const Call& call) {
    removeThread(call.service(), call.thread());
    return noContent();
}

serve::HandlerAnswer copyThread(const Call& call) {
    call.countStored();
    const ThreadRecord from = call.thread();
    ThreadRecord to = from;
    to.thread_id = newId();
    to.is_temporary = false;
    to.created_at = now();
    to.updated_at = to.created_at;
    to.metadata["thread_id"] = to.thread_id;
    if (const ServedGraph* const graph = call.graphOf(from)) graph->saver().copyThread(from.thread_id, to.thread_id);
    const ApiRecords::Batch time = beginTtl(call.service().clock->now(), to);
    call.service().records.store(ApiRecords::Batch(time).put(to));
    expectEnd(call, to);
    return answerOf(threadJson(call.service(), to));
}

serve::HandlerAnswer pruneThreads(const Call& call) {
    const Body body = call.body();
    const bool deletes = body.choice("strategy", {"delete", "keep_latest"}) == "delete";
    std::size_t count = 0;
    for (const std::string& each : body.texts("thread_ids")) {
        const ThreadRecord thread = call.thread(each);
        if (deletes) {
            removeThread(call.service(), thread);
        } else if (const ServedGraph* const graph = call.graphOf(thread)) {
            (void)graph->saver().prune({.thread_id = thread.thread_id, .keep_last = 1});
        }
        ++count;
    }
    return answerOf(json::object{{"pruned_count", count}});
}

}  // namespace

std::span<const Row> threadRows() {
    static constexpr Row rows[] = {
        {"POST", "/threads", &createThread},       {"POST", "/threads/search", &searchThreads},
        {"POST", "/threads/count", &countThreads}, {"POST", "/threads/prune", &pruneThreads},
        {"GET", "/threads/:id", &getThread},       {"PATCH", "/threads/:id", &patchThread},
        {"DELETE", "/threads/:id", &deleteThread}, {"POST", "/threads/:id/copy", &copyThread},
    };
    return rows;
}

}  // namespace stategraph::langgraph
