#include "src/commit/visit.hpp"

#include <stategraph/config.hpp>
#include <stategraph/error.hpp>

#include "checkpoint/utf8.hpp"
#include "src/graph/core.hpp"

namespace stategraph::engine {
namespace {

constexpr std::size_t key_bytes_max = 256;

void checkKey(const Node& node, std::string_view key) {
    const auto refuse = [&](const std::string& why) {
        throw InvalidUpdateError("the key that the subgraph of node '" + node.name + "' made from its input " + why, {.node = node.name});
    };
    if (key.empty()) refuse("is empty: it must name a log");
    if (key.size() > key_bytes_max) {
        refuse("has " + std::to_string(key.size()) + " bytes, and may have " + std::to_string(key_bytes_max));
    }
    if (!detail::isUtf8(key)) refuse("is not UTF-8");
}

std::string makeKey(const Node& node, const detail::Writes& input) {
    const detail::Core& inner = *node.subgraph->spec.core;
    State state(inner.schema());
    detail::Writes copy(input);
    WriteSet writes;
    writes.add(inner.schema(), copy, node.name);
    writes.close(inner.schema());
    applyWrites(state, writes, {}, nullptr);
    const detail::LogKey& log_key = inner.options().log_key;
    std::string key;
    try {
        log_key.call(log_key.callable.get(), state.object(), key);
    } catch (...) {
        throw VisitFailure{"the key function of the subgraph of node '" + node.name + "' failed: ", std::current_exception()};
    }
    checkKey(node, key);
    return key;
}

}  // namespace

void makeInput(const detail::Schema& outer, const Node& node, const State& state, const PendingSend* send, detail::Writes& input) {
    const Subgraph& subgraph = *node.subgraph;
    const detail::Schema& inner = subgraph.spec.core->schema();
    if (send != nullptr) {
        const detail::AnyValue payload = send->payload.empty() ? restorePayload(node, send->stored) : send->payload;
        subgraph.spec.from_payload(inner, payload.get(), input);
    } else if (subgraph.spec.to_inner != nullptr) {
        try {
            subgraph.spec.to_inner(subgraph.spec.to_inner_callable.get(), state.object(), input);
        } catch (...) {
            throw VisitFailure{"the function that maps into the subgraph of node '" + node.name + "' failed: ", std::current_exception()};
        }
    } else {
        for (const SharedChannel& shared : subgraph.in) {
            if (!state.has(shared.outer)) continue;
            const auto& channel = inner.channel(shared.inner);
            channel.behaviour->write(channel, state.value(outer.channel(shared.outer)), input);
        }
    }
}

void makeVisit(const detail::Schema& outer, const Node& node, const State& state, const PendingSend* send, Visit& visit) {
    makeInput(outer, node, state, send, visit.input);
    visit.key = makeKey(node, visit.input);
}

std::optional<std::string> findKey(const detail::Schema& outer, const Node& node, const State& state, const PendingSend* send) {
    if (!hasKeys(node)) return std::string();
    try {
        Visit visit;
        makeVisit(outer, node, state, send, visit);
        return std::move(visit.key);
    } catch (const VisitFailure&) {
    } catch (const Error&) {
    }
    return std::nullopt;
}

std::string innerNamespace(std::string_view outer, const Node& node, TaskId task, std::string_view key) {
    std::string ns(outer);
    if (!ns.empty()) ns += '|';
    if (!key.empty()) return ns + keyedNamespace(node.stored_name, key);
    ns += node.stored_name;
    if (!livesWithThread(*node.subgraph->spec.core)) ns += ':' + task.toString();
    return ns;
}

}  // namespace stategraph::engine
