#include "src/commit/visit.hpp"

#include <algorithm>

#include <stategraph/config.hpp>
#include <stategraph/detail/utf8.hpp>
#include <stategraph/error.hpp>

#include "src/checkpoint/commit_links.hpp"
#include "src/graph/core.hpp"
#include "src/graph/namespaces.hpp"

namespace stategraph::engine {
namespace {

constexpr std::size_t log_key_bytes_max = 256;

void checkKey(const Node& node, std::string_view key) {
    const auto refuse = [&](const std::string& why) {
        throw InvalidUpdateError("the key that the subgraph of node '" + node.name + "' made from its input " + why,
                                 {.node = node.name});
    };
    if (key.empty()) refuse("is empty: it must name a log");
    if (key.size() > log_key_bytes_max) {
        refuse("has " + std::to_string(key.size()) + " bytes, and may have " + std::to_string(log_key_bytes_max));
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
    const detail::LogKey& log_key = inner.options().checkpointer.logKey();
    std::string key;
    try {
        log_key.call(log_key.callable.get(), state.object(), key);
    } catch (...) {
        throw VisitFailure{"the key function of the subgraph of node '" + node.name + "' failed: ",
                           std::current_exception()};
    }
    checkKey(node, key);
    return key;
}

}  // namespace

void makeInput(const detail::Schema& outer, const Node& node, const State& state, const PendingSend* send,
               detail::Writes& input) {
    const Subgraph& subgraph = *node.subgraph;
    const detail::Schema& inner = subgraph.spec.core->schema();
    if (send != nullptr) {
        const detail::AnyValue payload = send->payload.empty() ? restorePayload(node, send->stored) : send->payload;
        subgraph.spec.from_payload(inner, payload.get(), input);
    } else if (subgraph.spec.to_inner != nullptr) {
        try {
            subgraph.spec.to_inner(subgraph.spec.to_inner_callable.get(), state.object(), input);
        } catch (...) {
            throw VisitFailure{"the function that maps into the subgraph of node '" + node.name + "' failed: ",
                               std::current_exception()};
        }
    } else {
        for (const SharedChannel& shared : subgraph.in) {
            if (!state.has(shared.outer)) continue;
            const auto& channel = inner.channel(shared.inner);
            channel.behaviour->write(channel, state.value(outer.channel(shared.outer)), input);
        }
    }
}

void makeVisit(const detail::Schema& outer, const Node& node, const State& state, const PendingSend* send,
               Visit& visit) {
    makeInput(outer, node, state, send, visit.input);
    visit.key = makeKey(node, visit.input);
}

std::optional<std::string> findKey(const detail::Schema& outer, const Node& node, const State& state,
                                   const PendingSend* send) {
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

std::string lastingLog(const Node& node, std::string_view key) {
    return key.empty() ? node.stored_name : keyedNamespace(node.stored_name, key);
}

std::string innerNamespace(std::string_view outer, const Node& node, TaskId task, std::string_view key) {
    std::string ns(outer);
    if (!ns.empty()) ns += '|';
    ns += lastingLog(node, key);
    if (!livesWithThread(*node.subgraph->spec.core)) ns += ':' + task.toString();
    return ns;
}

std::string calledNamespace(std::string_view outer, const Node& node, TaskId caller, std::string_view key) {
    std::string ns(outer);
    if (!ns.empty()) ns += '|';
    ns += node.stored_name + ':' + caller.toString() + ':';
    appendNamespaceKey(ns, key);
    return ns;
}

std::vector<ListedCheckpoint> listHeads(BaseCheckpointSaver& saver, const LogName& outer, CheckpointId before) {
    auto heads = saver.list({.thread_id = std::string(outer.thread_id), .before = before, .heads = true});
    const std::string prefix = outer.checkpoint_ns.empty() ? std::string() : std::string(outer.checkpoint_ns) + '|';
    std::erase_if(heads, [&prefix](const ListedCheckpoint& head) {
        const std::string_view ns = head.checkpoint_ns;
        if (!ns.starts_with(prefix) || ns.size() == prefix.size()) return true;
        const std::string_view name = ns.substr(prefix.size());
        return name.find('|') != std::string_view::npos || checkpoint::livesForOneTask(name);
    });
    return heads;
}

CheckpointId rootOf(const ListedCheckpoint& listed) {
    return readLinks({listed.thread_id, listed.checkpoint_ns, listed.id}, listed.bytes).root;
}

namespace {

constexpr std::size_t page_rows = 64;

// Calls `take(ListedCheckpoint&)` for a log's commits, newest first, until it returns false.
template <class Take>
void walkLog(BaseCheckpointSaver& saver, const LogName& log, CheckpointId before, Take take) {
    for (;;) {
        auto page = saver.list({.thread_id = std::string(log.thread_id),
                                .checkpoint_ns = std::string(log.checkpoint_ns),
                                .before = before,
                                .limit = page_rows});
        for (ListedCheckpoint& listed : page) {
            if (!take(listed)) return;
        }
        if (page.size() < page_rows) return;
        before = page.back().id;
    }
}

// Returns whether a checkpoint of the outer log is on the branch that leads to `stored`. A prune keeps the commits
// between the two as long as an edit needs them (checkpoint::ThreadPrune).
bool isOnBranch(BaseCheckpointSaver& saver, const LogName& outer, CheckpointId stored, CheckpointId sought) {
    CheckpointId at = stored;
    if (at <= sought) return at == sought;
    walkLog(saver, outer, {}, [&](const ListedCheckpoint& listed) {
        if (listed.id > at) return true;
        if (listed.id < at) return false;  // a prune has dropped it
        at = readHeader({outer.thread_id, outer.checkpoint_ns, listed.id}, listed.bytes).parent;
        return at > sought;
    });
    return at == sought;
}

// Returns the newest edit of the log since then that was made on this branch, or none. An edit from before the branch
// began is older than what a visit of the branch has left.
CheckpointId findEdit(BaseCheckpointSaver& saver, const LogName& log, const VisitFrom& from, CheckpointId last) {
    CheckpointId found;
    walkLog(saver, log, {}, [&](const ListedCheckpoint& listed) {
        if (listed.id <= last) return false;
        const auto fields = checkpoint::readCommit({log.thread_id, log.checkpoint_ns, listed.id}, listed.bytes, true);
        if (!fields.around) return true;
        const LogName outer{log.thread_id, from.ns};
        const bool is_on_branch =
            fields.around->empty() ? last.empty() : isOnBranch(saver, outer, from.stored, *fields.around);
        if (is_on_branch) found = listed.id;
        return found.empty();
    });
    return found;
}

}  // namespace

std::optional<CheckpointTuple> findVisit(BaseCheckpointSaver& saver, const LogName& log, const VisitFrom& from,
                                         CheckpointId& head) {
    auto newest = saver.getTuple({.log = log});
    head = newest ? newest->head : CheckpointId();
    if (!newest) return std::nullopt;
    const auto isOurs = [&](CheckpointId id, std::string_view bytes) {
        return isOfVisit(checkpoint::readCommit({log.thread_id, log.checkpoint_ns, id}, bytes, true), from.ns,
                         from.checkpoint);
    };
    if (isOurs(newest->id, newest->commits.back().bytes)) return newest;
    if (from.checkpoint.empty()) return std::nullopt;
    CheckpointId found;
    walkLog(saver, log, newest->id, [&](const ListedCheckpoint& listed) {
        if (listed.id < from.checkpoint) return false;  // a visit is later than the checkpoint that it began from
        if (isOurs(listed.id, listed.bytes)) found = listed.id;
        return found.empty();
    });
    if (found.empty()) return std::nullopt;
    return saver.getTuple({.log = log, .checkpoint_id = found});
}

std::optional<CheckpointTuple> findVisitStart(BaseCheckpointSaver& saver, const LogName& log, const VisitFrom& from,
                                              CheckpointId last, CheckpointId& head) {
    auto newest = saver.getTuple({.log = log});
    head = newest ? newest->head : CheckpointId();
    if (!newest || newest->id == last) return newest;
    const CheckpointId edit = findEdit(saver, log, from, last);
    const CheckpointId start = edit ? edit : last;
    if (start == newest->id) return newest;
    if (start.empty()) return std::nullopt;
    return saver.getTuple({.log = log, .checkpoint_id = start});
}

std::optional<CheckpointTuple> findCurrent(BaseCheckpointSaver& saver, const LogName& outer,
                                           const checkpoint::Folded& at, std::string_view name, CheckpointId& head) {
    std::string ns(outer.checkpoint_ns);
    if (!ns.empty()) ns += '|';
    ns += name;
    const LogName log{outer.thread_id, ns};
    if (!at.has_all_visits || checkpoint::livesForOneTask(name)) {
        auto newest = saver.getTuple({.log = log});
        head = newest ? newest->head : CheckpointId();
        return newest;
    }
    const VisitFrom from{outer.checkpoint_ns, at.commit.id, at.commit.id};
    if (auto visit = findVisit(saver, log, from, head)) return visit;
    const auto last = std::ranges::find(at.visits, name, &checkpoint::LoggedVisit::log);
    return findVisitStart(saver, log, from, last == at.visits.end() ? CheckpointId() : last->id, head);
}

namespace {

// A log that lives with the thread: the namespace around it, and what its own adds to that.
struct LastingLog {
    std::string_view outer;
    std::string_view name;
};

std::optional<LastingLog> asLasting(std::string_view ns) {
    const std::size_t cut = ns.rfind('|');
    const bool is_nested = cut != std::string_view::npos;
    const std::string_view name = is_nested ? ns.substr(cut + 1) : ns;
    if (ns.empty() || checkpoint::livesForOneTask(name)) return std::nullopt;
    return LastingLog{is_nested ? ns.substr(0, cut) : std::string_view(), name};
}

}  // namespace

std::optional<CheckpointTuple> findCurrent(BaseCheckpointSaver& saver, const LogName& log, CheckpointId& head) {
    if (const auto lasting = asLasting(log.checkpoint_ns)) {
        const LogName outer{log.thread_id, lasting->outer};
        CheckpointId outer_head;
        if (auto around = findCurrent(saver, outer, outer_head)) {
            return findCurrent(saver, outer, checkpoint::fold(outer, std::move(*around)), lasting->name, head);
        }
        return findVisitStart(saver, log, {outer.checkpoint_ns, {}, {}}, {}, head);
    }
    auto newest = saver.getTuple({.log = log});
    head = newest ? newest->head : CheckpointId();
    return newest;
}

std::optional<Around> findAround(BaseCheckpointSaver& saver, const LogName& log) {
    const auto lasting = asLasting(log.checkpoint_ns);
    if (!lasting) return std::nullopt;
    CheckpointId head;
    Around around;
    // The root is read first: as long as its checkpoint is there, a prune keeps what belongs to it.
    if (!lasting->outer.empty()) (void)findCurrent(saver, {log.thread_id}, around.root);
    if (const auto outer = findCurrent(saver, {log.thread_id, lasting->outer}, head)) around.id = outer->id;
    if (lasting->outer.empty()) around.root = around.id;
    return around;
}

}  // namespace stategraph::engine
