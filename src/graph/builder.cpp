#include <stategraph/detail/builder.hpp>

#include <cstring>
#include <new>
#include <utility>

#include <stategraph/detail/graph_builder.hpp>
#include <stategraph/graph.hpp>

#include "src/value/lasting.hpp"

// Turns the arguments of StateGraph<S> into a GraphSpec, with code that is common to all state types.
namespace stategraph {

constinit const Checkpointer NO_CHECKPOINTER{detail::CheckpointerKind::none};
constinit const Checkpointer PER_THREAD{detail::CheckpointerKind::per_thread};

const NodeOptions& NodeOptions::defaults() noexcept {
    static const engine::Lasting<NodeOptions> options;
    return *options;
}

const CompileOptions& CompileOptions::defaults() noexcept {
    static const engine::Lasting<CompileOptions> options;
    return *options;
}

namespace detail {
// Leaves a graph without nodes and with the same state in `from`.
GraphSpec GraphBuilder::take(GraphSpec& from) {
    GraphSpec left;
    left.state = from.state;
    left.input = from.input;
    left.output = from.output;
    left.keep_alive = from.keep_alive;
    return std::exchange(from, std::move(left));
}

GraphBuilder::GraphBuilder() : spec_(new GraphSpec) {}
GraphBuilder::GraphBuilder(const GraphBuilder& other) : spec_(new GraphSpec(*other.spec_)) {}
// A builder that was moved from can be used, so that moving allocates.
// NOLINTNEXTLINE(performance-noexcept-move-constructor)
GraphBuilder::GraphBuilder(GraphBuilder&& other) : spec_(new GraphSpec(take(*other.spec_))) {}
// NOLINTNEXTLINE(bugprone-unhandled-self-assignment): GraphSpec's members handle it
GraphBuilder& GraphBuilder::operator=(const GraphBuilder& other) {
    *spec_ = *other.spec_;
    return *this;
}
// NOLINTNEXTLINE(performance-noexcept-move-constructor)
GraphBuilder& GraphBuilder::operator=(GraphBuilder&& other) {
    if (this != &other) *spec_ = take(*other.spec_);
    return *this;
}
GraphBuilder::~GraphBuilder() { delete spec_; }

void GraphBuilder::addNode(std::string&& name, NodeAction&& action, const NodeOptions& options) {
    spec_->nodes.push_back({options, std::move(name), std::move(action), {}});
}

void GraphBuilder::addSubgraph(std::string&& name, SubgraphSpec&& subgraph, const NodeOptions& options) {
    spec_->nodes.push_back({options, std::move(name), {}, std::move(subgraph)});
}

void GraphBuilder::setNodeDefaults(const NodeDefaults& defaults) {
    spec_->default_retry = defaults.retry;
    spec_->default_cache = defaults.cache;
}

void GraphBuilder::onError(std::string&& node, NodeAction&& handler, const NodeNames& ends) {
    HandlerSpec spec{.node = std::move(node), .action = std::move(handler), .ends = {}};
    if (ends.isGiven()) spec.ends = ends.names();
    spec_->handlers.push_back(std::move(spec));
}

void GraphBuilder::addEdge(std::string&& from, std::string&& to) {
    spec_->edges.push_back({.from = {std::move(from)}, .join = false, .to = std::move(to)});
}

void GraphBuilder::addJoin(std::vector<std::string>&& from, std::string&& to) {
    spec_->edges.push_back({.from = std::move(from), .join = true, .to = std::move(to)});
}

void GraphBuilder::addBranch(std::string&& from, RouterAction&& router, const PathMap& ends) {
    BranchSpec branch{.from = std::move(from), .router = std::move(router), .ends = {}};
    if (ends.isGiven()) {
        branch.ends.emplace();
        for (const PathEntry& entry : ends.entries()) branch.ends->emplace_back(entry.label, entry.node);
    }
    spec_->branches.push_back(std::move(branch));
}

std::shared_ptr<const Core> GraphBuilder::compile(const CompileOptions& options) const {
    return compileGraph(*spec_, options);
}

std::string GraphBuilder::toMermaid() const { return detail::toMermaid(*spec_); }
std::string GraphBuilder::toDot() const { return detail::toDot(*spec_); }

void describeGraph(GraphSpec& spec, const Schema& state, const Schema& input, const Schema& output) {
    spec.state = &state;
    for (const auto& channel : input.channels()) spec.input.push_back(state.find(channel.name)->index);
    for (const auto& channel : output.channels()) spec.output.push_back(state.find(channel.name)->index);
}

void payloadToInput(const Schema& inner, const void* payload, Writes& input) {
    for (const auto& channel : inner.channels())
        channel.behaviour->write(channel, inner.value(payload, channel), input);
}

std::string toMermaid(const Core& core) { return toMermaid(specOf(core)); }
std::string toDot(const Core& core) { return toDot(specOf(core)); }

std::shared_ptr<void> ownValue(void* value, void (*destroy)(void*)) { return std::shared_ptr<void>(value, destroy); }

std::shared_ptr<void> ownBytes(const void* bytes, std::size_t size, std::size_t alignment) {
    const auto align = static_cast<std::align_val_t>(alignment);
    void* copy = ::operator new(size, align);
    std::memcpy(copy, bytes, size);
    return std::shared_ptr<void>(copy, [align](void* stored) { ::operator delete(stored, align); });
}

}  // namespace detail
}  // namespace stategraph
