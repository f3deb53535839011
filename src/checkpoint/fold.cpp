#include "src/checkpoint/fold.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <utility>

#include <stategraph/detail/table.hpp>
#include <stategraph/error.hpp>

#include "src/checkpoint/record_frame.hpp"
#include "src/checkpoint/repeated_values.hpp"

namespace stategraph::checkpoint {
namespace {

void takeValues(const LogName& log, CommitReader& commit, std::optional<std::string_view> input) {
    try {
        takeInputValues(commit.operations, input);
    } catch (const WrongTypeError& error) {
        corrupt({log.thread_id, log.checkpoint_ns, commit.fields.id}, error.message());
    }
}

// Passes the commits that lead to the tuple's checkpoint to `take(const CommitReader&)`, newest first, without those of
// other branches. A commit that is its own base needs none before it, whatever base later commits name: a prune may
// have rewritten it as a whole and dropped that base. Returns the id of the last commit.
template <class Take>
CheckpointId walkBack(const LogName& log, const CheckpointTuple& tuple, Take take) {
    std::array<CommitReader, 2> readers;
    CommitReader* waiting = nullptr;  // waits for its parent's input, to which some of its operations refer
    CheckpointId wanted = tuple.id;
    CheckpointId base;
    for (auto row = tuple.commits.rbegin(); row != tuple.commits.rend(); ++row) {
        if (row->id != wanted) continue;
        CommitReader& commit = readers[waiting == readers.data() ? 1 : 0];
        commit.read({log.thread_id, log.checkpoint_ns, row->id}, row->bytes);
        if (wanted == tuple.id) base = commit.fields.base;
        if (waiting != nullptr) {
            takeValues(log, *waiting, commit.fields.input);
            take(*waiting);
        }
        const bool is_last = row->id == base || row->id == commit.fields.base;
        waiting = commit.fields.besides.names_input && !is_last ? &commit : nullptr;
        if (waiting == nullptr) {
            if (is_last) takeValues(log, commit, {});  // it needs no commit before it
            take(commit);
        }
        if (is_last) return row->id;
        wanted = commit.fields.parent;
    }
    throw CorruptCheckpointError("the record " + RowKey{log.thread_id, log.checkpoint_ns, wanted}.toString() +
                                 " is missing, and reading checkpoint " + tuple.id.toString() + " needs it");
}

// Finds channels by name. Commits tend to name the same ones in the same order, so most are found immediately.
class ChannelPlaces {
public:
    // Returns the place of a channel. For a new channel this is `names.size()`, and the channel gets that place.
    template <class Channel>
    std::size_t find(std::string_view name, const std::vector<Channel>& channels) {
        for (std::size_t tried = 0; tried < few && next_ < channels.size(); ++tried) {
            const std::size_t place = next_++;
            if (next_ >= channels.size()) next_ = 0;
            if (channels[place].name == name) return place;
        }
        const std::size_t place = channels.size() < searched_max ? search(name, channels) : lookUp(name, channels);
        next_ = place + 1 < channels.size() ? place + 1 : 0;
        return place;
    }

private:
    template <class Channel>
    static std::size_t search(std::string_view name, const std::vector<Channel>& channels) {
        std::size_t place = 0;
        while (place < channels.size() && channels[place].name != name) ++place;
        return place;
    }
    template <class Channel>
    std::size_t lookUp(std::string_view name, const std::vector<Channel>& channels) {
        for (std::size_t known = by_name_.size(); known < channels.size(); ++known)
            by_name_.emplace(channels[known].name, known);
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? channels.size() : found->second;
    }

    static constexpr std::size_t few = 4;
    static constexpr std::size_t searched_max = 16;  // a table of fewer channels costs more than it saves
    std::size_t next_ = 0;
    std::unordered_map<std::string_view, std::size_t> by_name_;
};

// Folds from the newest commit to the oldest: operations before a channel's last set are skipped.
class Folder {
public:
    explicit Folder(Folded& into) : into_(into) {}

    void take(const CommitReader& read) {
        for (const LoggedOp& operation : read.operations) {
            const std::size_t place = places_.find(operation.channel, into_.channels);
            if (place == into_.channels.size()) {
                into_.channels.push_back({operation.channel, {}});
                is_closed_.push_back(false);
            }
            if (is_closed_[place]) continue;
            if (operation.op != LogOp::clear) into_.channels[place].pieces.push_back({operation.op, operation.value});
            is_closed_[place] = operation.op == LogOp::set || operation.op == LogOp::clear;
        }
        takeSchedule(read.fields);
    }

    void finish() {
        std::erase_if(into_.channels, [](const FoldedChannel& channel) { return channel.pieces.empty(); });
        for (FoldedChannel& channel : into_.channels) std::reverse(channel.pieces.begin(), channel.pieces.end());
        std::sort(into_.channels.begin(), into_.channels.end(),
                  [](const FoldedChannel& a, const FoldedChannel& b) { return a.name < b.name; });
        std::erase_if(into_.joins, [](const FoldedJoin& join) { return join.arrived.empty(); });
        std::erase_if(into_.deferred, [](const FoldedDeferral& deferral) { return deferral.state == Deferral::gone; });
        std::reverse(into_.joins.begin(), into_.joins.end());
        std::reverse(into_.deferred.begin(), into_.deferred.end());
        std::sort(into_.visits.begin(), into_.visits.end(),
                  [](const LoggedVisit& a, const LoggedVisit& b) { return detail::storedBefore(a.log, b.log); });
    }

private:
    void takeSchedule(const CommitFields& commit) {
        const auto isNew = [](const auto& known, std::string_view key) {
            return std::none_of(known.begin(), known.end(), [key](const auto& each) { return each.key == key; });
        };
        // If a key occurs twice in a commit, the last one counts.
        for (auto join = commit.joins.rbegin(); join != commit.joins.rend(); ++join) {
            if (isNew(into_.joins, join->key)) into_.joins.push_back({join->key, join->arrived, commit.step});
        }
        for (auto deferral = commit.deferred.rbegin(); deferral != commit.deferred.rend(); ++deferral) {
            if (isNew(into_.deferred, deferral->key))
                into_.deferred.push_back({deferral->key, deferral->state, commit.step});
        }
        if (!into_.has_all_visits) {
            for (auto visit = commit.visits.rbegin(); visit != commit.visits.rend(); ++visit) {
                if (visited_.insert(visit->log).second) into_.visits.push_back(*visit);
            }
            into_.has_all_visits = commit.besides.has_all_visits;
        }
        if (commit.ran.kind != Ran::Kind::unchanged && into_.ran.kind == FoldedRan::Kind::nobody) {
            const bool is_one = commit.ran.kind == Ran::Kind::one;
            into_.ran = {is_one ? FoldedRan::Kind::one : FoldedRan::Kind::several,
                         is_one ? commit.ran.node : std::string_view()};
        }
        if (!has_graph_ && commit.graph) into_.graph = *commit.graph;
        if (!has_schema_ && commit.schema) into_.schema = *commit.schema;
        has_graph_ = has_graph_ || commit.graph;
        has_schema_ = has_schema_ || commit.schema;
        into_.says_more = into_.says_more || commit.besides.says_more;
    }

    Folded& into_;
    std::vector<bool> is_closed_;
    std::set<std::string_view> visited_;
    bool has_graph_ = false;
    bool has_schema_ = false;
    ChannelPlaces places_;
};

}  // namespace

const FoldedChannel* Folded::find(std::string_view channel) const noexcept {
    const auto found =
        std::lower_bound(channels.begin(), channels.end(), channel,
                         [](const FoldedChannel& each, std::string_view name) { return each.name < name; });
    return found != channels.end() && found->name == channel ? &*found : nullptr;
}

Folded fold(const LogName& log, CheckpointTuple tuple) {
    Folded folded;
    folded.tuple = std::move(tuple);
    Folder folder(folded);
    bool is_newest = true;
    const CheckpointId first = walkBack(log, folded.tuple, [&](const CommitReader& commit) {
        folder.take(commit);
        folded.replay_bytes += commit.size;
        ++folded.replay_commits;
        if (std::exchange(is_newest, false)) folded.commit = commit.fields;
    });
    folder.finish();
    folded.commit.base = first;
    return folded;
}

Lineage::Lineage(const LogName& log, CheckpointTuple tuple) : tuple_(std::move(tuple)) {
    ChannelPlaces places;
    walkBack(log, tuple_, [&](const CommitReader& commit) {
        const auto age = static_cast<std::uint32_t>(commits_.size());  // reversed below, like everything else
        commits_.push_back({commit.fields.id, commit.fields.base});
        for (const LoggedOp& operation : commit.operations) {
            const std::size_t place = places.find(operation.channel, channels_);
            if (place == channels_.size()) channels_.push_back({.name = operation.channel});
            channels_[place].pieces.push_back({operation.op, operation.value});
            channels_[place].commits.push_back(age);
        }
    });
    std::reverse(commits_.begin(), commits_.end());
    for (Channel& channel : channels_) {
        std::reverse(channel.pieces.begin(), channel.pieces.end());
        std::reverse(channel.commits.begin(), channel.commits.end());
        for (std::uint32_t& commit : channel.commits) commit = static_cast<std::uint32_t>(commits_.size()) - 1 - commit;
        std::uint32_t begin = 0;
        channel.begins.reserve(channel.pieces.size());
        for (std::uint32_t i = 0; i < channel.pieces.size(); ++i) {
            if (channel.pieces[i].op == LogOp::set) begin = i;
            if (channel.pieces[i].op == LogOp::clear) begin = i + 1;
            channel.begins.push_back(begin);
        }
    }
    std::sort(channels_.begin(), channels_.end(), [](const Channel& a, const Channel& b) { return a.name < b.name; });
}

std::optional<std::span<const ChannelPieces>> Lineage::channelsOf(CheckpointId id) {
    const auto commit = std::lower_bound(commits_.begin(), commits_.end(), id,
                                         [](const Commit& each, CheckpointId wanted) { return each.id < wanted; });
    if (commit == commits_.end() || commit->id != id) return {};
    // Folding it would end where this fold ended: at a commit that needs none before it, or at the base that both name.
    const Commit& oldest = commits_.front();
    const bool ends_alike =
        commit->base == commits_.back().base || (oldest.base == oldest.id && commit->base <= oldest.id);
    if (!ends_alike) return {};
    const auto place = static_cast<std::uint32_t>(commit - commits_.begin());
    found_.clear();
    for (const Channel& channel : channels_) {
        const auto end = static_cast<std::size_t>(
            std::upper_bound(channel.commits.begin(), channel.commits.end(), place) - channel.commits.begin());
        if (end == 0) continue;
        const std::size_t begin = channel.begins[end - 1];
        if (begin < end) found_.push_back({channel.name, std::span(channel.pieces).subspan(begin, end - begin)});
    }
    return found_;
}

}  // namespace stategraph::checkpoint
