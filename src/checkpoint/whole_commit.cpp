#include <algorithm>

#include <stategraph/detail/table.hpp>
#include <stategraph/error.hpp>
#include <stategraph/saver_rules.hpp>

#include "src/checkpoint/commit_fields.hpp"
#include "src/checkpoint/fold.hpp"
#include "src/checkpoint/materialise.hpp"

// Writes a commit that is kept in such a form that the commits before it can be dropped.
namespace stategraph::checkpoint {
namespace {

// Returns the operations that make up every channel's value.
std::string operationsOf(const Folded& folded) {
    std::vector<const FoldedChannel*> channels;
    for (const FoldedChannel& channel : folded.channels) channels.push_back(&channel);
    std::sort(channels.begin(), channels.end(),
              [](const FoldedChannel* a, const FoldedChannel* b) { return detail::storedBefore(a->name, b->name); });
    std::string cbor;
    Encoder out(cbor);
    out.map(channels.size());
    for (const FoldedChannel* const channel : channels) writeWhole(channel->name, channel->pieces, out);
    return cbor;
}

// Fills in completely what commits usually contain only when it changes.
void fillSchedule(const Folded& folded, CommitFields& whole) {
    const auto by_key = [](const auto& a, const auto& b) { return detail::storedBefore(a.key, b.key); };
    whole.joins.clear();
    for (const FoldedJoin& join : folded.joins) whole.joins.push_back({join.key, join.arrived});
    std::sort(whole.joins.begin(), whole.joins.end(), by_key);
    whole.deferred.clear();
    for (const FoldedDeferral& deferral : folded.deferred) whole.deferred.push_back({deferral.key, deferral.state});
    std::sort(whole.deferred.begin(), whole.deferred.end(), by_key);
    whole.visits = folded.visits;
    whole.besides.has_all_visits = folded.has_all_visits;
    switch (folded.ran.kind) {
        case FoldedRan::Kind::nobody:
            whole.ran = {};
            break;
        case FoldedRan::Kind::several:
            whole.ran = {Ran::Kind::several, {}};
            break;
        case FoldedRan::Kind::one:
            whole.ran = {Ran::Kind::one, folded.ran.node};
            break;
    }
    // If the field were absent, it would mean "as in the parent", which no longer exists. In both cases 0 is read.
    whole.graph = folded.graph != 0 ? std::optional(folded.graph) : std::nullopt;
    whole.schema = folded.schema != 0 ? std::optional(folded.schema) : std::nullopt;
}

}  // namespace

std::string wholeCommit(const LogName& log, CheckpointTuple tuple) {
    const Folded folded = fold(log, std::move(tuple));
    const RowKey key{log.thread_id, log.checkpoint_ns, folded.commit.id};
    if (folded.says_more) {
        throw CorruptCheckpointError(
            "the record " + key.toString() +
            " cannot be rewritten: it, or one that it is read from, was stored by a later version and has more fields");
    }
    CommitFields whole = folded.commit;
    whole.base = whole.id;
    whole.writes.reset();  // of the task that led here from a checkpoint that is about to be dropped
    fillSchedule(folded, whole);
    std::string operations;
    try {
        operations = operationsOf(folded);
    } catch (const WrongTypeError& error) {
        throw CorruptCheckpointError("the record " + key.toString() + " cannot be rewritten: " + error.message());
    }
    whole.operations = operations;
    whole.besides.names_input = false;
    std::string record;
    writeCommit(whole, record);
    return record;
}

}  // namespace stategraph::checkpoint
