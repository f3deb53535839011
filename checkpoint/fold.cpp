#include "checkpoint/fold.hpp"

#include <algorithm>
#include <unordered_map>

#include <stategraph/error.hpp>

namespace stategraph::checkpoint {
namespace {

// The commits that lead to the newest, oldest first; those of other branches are left out. One that is its own base needs none before it,
// whatever base those above it name: a prune may have written it whole, and that base is gone.
std::vector<CommitFields> readChain(const LogName& log, const CheckpointTuple& tuple) {
    std::vector<CommitFields> chain;
    CheckpointId wanted = tuple.id;
    CheckpointId base;
    bool is_complete = false;
    for (auto row = tuple.commits.rbegin(); row != tuple.commits.rend(); ++row) {
        if (row->id != wanted) continue;
        chain.push_back(readCommit({log.thread_id, log.checkpoint_ns, row->id}, row->bytes));
        if (chain.size() == 1) base = chain.front().base;
        is_complete = row->id == base || row->id == chain.back().base;
        if (is_complete) break;
        wanted = chain.back().parent;
    }
    if (!is_complete) {
        throw CorruptCheckpointError("the record " + RowKey{log.thread_id, log.checkpoint_ns, wanted}.toString() +
                                     " is missing, and reading checkpoint " + tuple.id.toString() + " needs it");
    }
    std::reverse(chain.begin(), chain.end());
    return chain;
}

class Folder {
public:
    explicit Folder(Folded& into) : into_(into) {}

    void take(const CommitFields& commit) {
        for (const LoggedOp& operation : readOperations(commit.operations)) {
            auto& pieces = channel(operation.channel).pieces;
            if (operation.op == LogOp::set || operation.op == LogOp::clear) pieces.clear();
            if (operation.op != LogOp::clear) pieces.push_back({operation.op, operation.value});
        }
        for (const LoggedJoin& join : commit.joins) {
            std::erase_if(into_.joins, [&](const FoldedJoin& old) { return old.key == join.key; });
            if (!join.arrived.empty()) into_.joins.push_back({join.key, join.arrived, commit.step});
        }
        for (const LoggedDeferral& deferral : commit.deferred) {
            std::erase_if(into_.deferred, [&](const FoldedDeferral& old) { return old.key == deferral.key; });
            if (deferral.state != Deferral::gone) into_.deferred.push_back({deferral.key, deferral.state, commit.step});
        }
        if (commit.ran.kind == Ran::Kind::one) into_.ran = {FoldedRan::Kind::one, commit.ran.node};
        if (commit.ran.kind == Ran::Kind::several) into_.ran = {FoldedRan::Kind::several, {}};
        if (commit.graph) into_.graph = *commit.graph;
        if (commit.schema) into_.schema = *commit.schema;
        into_.says_more = into_.says_more || commit.says_more;
    }

    void finish() {
        std::erase_if(into_.channels, [](const FoldedChannel& channel) { return channel.pieces.empty(); });
        std::sort(into_.channels.begin(), into_.channels.end(),
                  [](const FoldedChannel& a, const FoldedChannel& b) { return a.name < b.name; });
    }

private:
    FoldedChannel& channel(std::string_view name) {
        const auto [found, added] = by_name_.try_emplace(name, into_.channels.size());
        if (added) into_.channels.push_back({name, {}});
        return into_.channels[found->second];
    }

    Folded& into_;
    std::unordered_map<std::string_view, std::size_t> by_name_;
};

}  // namespace

const FoldedChannel* Folded::find(std::string_view channel) const noexcept {
    const auto found = std::lower_bound(channels.begin(), channels.end(), channel,
                                        [](const FoldedChannel& each, std::string_view name) { return each.name < name; });
    return found != channels.end() && found->name == channel ? &*found : nullptr;
}

Folded fold(const LogName& log, CheckpointTuple tuple) {
    Folded folded;
    folded.tuple = std::move(tuple);
    std::vector<CommitFields> chain = readChain(log, folded.tuple);
    for (const auto& row : folded.tuple.commits) folded.replay_bytes += row.bytes.size();
    Folder folder(folded);
    std::size_t at = 0;
    try {
        for (; at < chain.size(); ++at) folder.take(chain[at]);
    } catch (const WrongTypeError& error) {
        throw CorruptCheckpointError("the record " + RowKey{log.thread_id, log.checkpoint_ns, chain[at].id}.toString() +
                                     " cannot be read: " + error.message());
    }
    folder.finish();
    const CheckpointId first = chain.front().id;
    folded.commit = std::move(chain.back());
    folded.commit.base = first;
    return folded;
}

}  // namespace stategraph::checkpoint
