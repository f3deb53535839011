#include <stategraph/compiled_graph.hpp>
#include <stategraph/error.hpp>

#include "src/graph/namespaces.hpp"
#include "src/history/editor.hpp"
#include "src/history/history_saver.hpp"
#include "src/threads/inside_run.hpp"
#include "src/threads/thread_claim.hpp"

// updateState: writes a commit of its own without running.
namespace stategraph::engine {
namespace {

using detail::Core;

// Returns the store of the namespace's graph, or of the nearest graph around it that has one.
BaseStore* storeAt(const Core& root, std::string ns) {
    for (;;) {
        if (BaseStore* const store = resolveNamespace(root, ns).options().store.get()) return store;
        if (ns.empty()) return nullptr;
        const std::size_t cut = ns.rfind('|');
        ns.resize(cut == std::string::npos ? 0 : cut);
    }
}

}  // namespace
}  // namespace stategraph::engine

namespace stategraph::detail {

struct Edits::Data {
    TypeKey state;  // the type of state that the updates are for
    std::vector<std::vector<engine::StateEdit>> supersteps;
};

Edits::Edits(TypeKey state) : data_(new Data{.state = state, .supersteps = {}}) {}
Edits::~Edits() = default;
void Edits::beginSuperstep() { data_->supersteps.emplace_back(); }
void Edits::add(const Writes& writes, const std::optional<std::string>& as_node, const Targets& go_to) {
    data_->supersteps.back().push_back({.writes = writes, .as_node = as_node, .go_to = {go_to.begin(), go_to.end()}});
}

Config editState(const Core& root, const Config& config, Edits& given, const UpdateOptions& options) {
    auto& supersteps = given.data().supersteps;
    BaseCheckpointSaver& saver = engine::historySaver(root, config);
    engine::ThreadClaim claim;
    const Core& core = engine::resolveNamespace(root, config.checkpoint_ns);
    if (core.schema().state().type != given.data().state) {
        const std::string whose =
            config.checkpoint_ns.empty() ? "the graph" : "the subgraph '" + std::string(config.checkpoint_ns) + "'";
        throw InvalidUpdateError(
            "the update is of another type of state than that of " + whose + ": give it an Update of its own state",
            {.thread_id = config.thread_id.toString(), .checkpoint_ns = config.checkpoint_ns});
    }
    if (supersteps.empty()) throw InvalidArgumentError("bulkUpdateState was given no supersteps");
    if (config.checkpoint_id && (options.only_at || options.only_new)) {
        throw InvalidArgumentError(
            "only_at and only_new ask for the newest state of the thread, and checkpoint_id names another one; give "
            "one of them");
    }
    Config at = config;
    try {
        const bool is_bulk = supersteps.size() > 1 || supersteps.front().size() > 1;
        claim.acquire(saver, config.thread_id.view(), options.on_busy, options.busy_timeout);
        const engine::InsideRun inside(claim);  // routers may be asked
        for (auto& edits : supersteps) {
            if (edits.empty()) throw InvalidArgumentError("bulkUpdateState was given a superstep without updates");
            engine::Editor editor(core, root.ids(), saver, engine::storeAt(root, config.checkpoint_ns), at,
                                  options.durability);
            if (&edits == &supersteps.front()) editor.guard(options);
            at = editor.apply(edits, is_bulk);
        }
    } catch (Error& error) {
        error.addContext({.thread_id = config.thread_id.toString(), .checkpoint_ns = config.checkpoint_ns});
        throw;
    }
    return at;
}

}  // namespace stategraph::detail
