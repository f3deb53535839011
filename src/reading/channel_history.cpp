#include <algorithm>
#include <utility>

#include <stategraph/checkpoint_changes.hpp>

#include "src/checkpoint/due_tasks.hpp"
#include "src/reading/branch_reader.hpp"
#include "src/reading/changes.hpp"

namespace stategraph {
namespace {

using checkpoint::CommitReader;

bool writes(const std::vector<checkpoint::LoggedWrite>& list, std::string_view channel) {
    return std::ranges::any_of(list, [&](const auto& write) { return write.channel == channel; });
}

const checkpoint::LoggedOp* find(const CommitReader& commit, std::string_view channel) {
    const auto found = std::ranges::find(commit.operations, channel, &checkpoint::LoggedOp::channel);
    return found == commit.operations.end() ? nullptr : &*found;
}

// Returns the tasks of the parent's superstep that wrote the channel, according to their records or to the commit
// itself. Returns none if the log does not say who wrote what.
std::optional<std::vector<ChannelWriter>> writersOf(const CommitReader& commit, const ListedCheckpoint& parent,
                                                    std::string_view channel) {
    if (commit.fields.source != Source::loop || commit.fields.folds != 1) return {};
    const LogName log{parent.thread_id, parent.checkpoint_ns};
    const auto header = checkpoint::readCommit({log.thread_id, log.checkpoint_ns, parent.id}, parent.bytes, true);
    const auto records = checkpoint::readRecords(log, parent.id, parent.writes);
    const auto tasks = checkpoint::dueTasks(header, records, true);
    std::vector<ChannelWriter> writers;
    const bool is_alone = tasks.size() == 1;
    for (const auto& task : tasks) {
        bool wrote = task.record != nullptr && task.record->writes &&
                     writes(checkpoint::readWrites(*task.record->writes), channel);
        if (!wrote && is_alone) {
            wrote = commit.fields.writes
                        ? writes(checkpoint::readCommitWrites(commit.fields, commit.operations), channel)
                        : find(commit, channel) != nullptr;
        }
        if (wrote) writers.push_back({task.name, task.path});
        if (!is_alone && !task.finished) return {};
    }
    return writers;
}

class Walk {
public:
    Walk(BaseCheckpointSaver& saver, const Config& config, std::string_view channel, const ChannelHistoryQuery& query)
        : branch_(saver, config), config_(config), channel_(channel), query_(query) {}

    ChannelHistory run() {
        std::optional<ListedCheckpoint> child = branch_.next();
        while (child) {
            const RowKey key{child->thread_id, child->checkpoint_ns, child->id};
            const CheckpointId parent_id = checkpoint::readCommit(key, child->bytes, true).parent;
            if (history_.entries.size() == query_.limit || visited_ == query_.commits_max) {
                history_.more = configOf(child->id);
                break;
            }
            branch_.follow(parent_id);
            auto parent = branch_.next();
            add(*child, parent);
            ++visited_;
            child = std::move(parent);
        }
        return std::move(history_);
    }

private:
    Config configOf(CheckpointId id) const {
        Config config = config_;
        config.checkpoint_id = id;
        return config;
    }

    void add(const ListedCheckpoint& listed, const std::optional<ListedCheckpoint>& parent) {
        const RowKey key{listed.thread_id, listed.checkpoint_ns, listed.id};
        checkpoint::CommitFields above;
        if (parent) above = checkpoint::readCommit({key.thread_id, key.checkpoint_ns, parent->id}, parent->bytes, true);
        reading::readWithInput(key, listed.bytes, above.input, commit_);
        const auto* const operation = find(commit_, channel_);
        if (operation == nullptr) return;
        auto writers = parent ? writersOf(commit_, *parent, channel_) : std::nullopt;
        // A commit that holds the whole state has a value for each channel; its tasks say who wrote it.
        const bool says_all = commit_.fields.base == listed.id && parent.has_value();
        if (says_all && writers && writers->empty()) return;
        history_.entries.push_back({.config = configOf(listed.id),
                                    .step = commit_.fields.step,
                                    .source = commit_.fields.source,
                                    .change = reading::changeOf(*operation),
                                    .writers = writers ? std::move(*writers) : std::vector<ChannelWriter>()});
    }

    reading::BranchReader branch_;
    const Config& config_;
    std::string_view channel_;
    const ChannelHistoryQuery& query_;
    CommitReader commit_;
    std::size_t visited_ = 0;
    ChannelHistory history_;
};

}  // namespace

ChannelHistory readChannelHistory(BaseCheckpointSaver& saver, const Config& config, std::string_view channel,
                                  const ChannelHistoryQuery& query) {
    reading::requireThread(config, "readChannelHistory");
    if (query.limit < 1 || query.commits_max < 1)
        throw InvalidArgumentError("readChannelHistory: limit and commits_max must be at least 1");
    return reading::named(config, [&] { return Walk(saver, config, channel, query).run(); });
}

}  // namespace stategraph
