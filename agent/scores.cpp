#include <algorithm>
#include <exception>
#include <utility>

#include <stategraph/agent/replay.hpp>
#include <stategraph/error.hpp>

namespace stategraph::agent {

namespace {

std::optional<double> numberIn(const Value& score) {
    try {
        return score.as<double>();
    } catch (const WrongTypeError&) {
        return {};
    }
}

ScoredReplay scored(const Record& record, const Options& options, const std::vector<Scorer>& scorers,
                    const ReplayOptions& settings) {
    ScoredReplay row{.thread_id = record.thread_id, .scores = std::vector<Value>(scorers.size())};
    try {
        row.replayed = replay(record, options, settings);
    } catch (const std::exception& why) {
        row.error = why.what();
        return row;
    }
    for (std::size_t i = 0; i < scorers.size(); ++i) {
        try {
            row.scores[i] = scorers[i].score(row.replayed);
        } catch (const std::exception& why) {
            row.error += (row.error.empty() ? "" : "; ") + scorers[i].name + ": " + why.what();
        }
    }
    return row;
}

}  // namespace

ScoreTable scoreReplays(std::span<const Record> records, const Options& options, const std::vector<Scorer>& scorers,
                        const ReplayOptions& settings) {
    ScoreTable table;
    for (const Scorer& scorer : scorers) {
        if (!scorer.score) throw InvalidArgumentError("the scorer '" + scorer.name + "' has no function");
        table.scorers.push_back(scorer.name);
    }
    table.rows.reserve(records.size());
    for (const Record& record : records) table.rows.push_back(scored(record, options, scorers, settings));
    for (std::size_t i = 0; i < scorers.size(); ++i) {
        double sum = 0;
        std::size_t count = 0;
        for (const ScoredReplay& row : table.rows) {
            const auto number = numberIn(row.scores[i]);
            if (!number) continue;
            sum += *number;
            ++count;
        }
        table.means.push_back(count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count)));
    }
    return table;
}

double sameCalls(const Replayed& replayed) {
    const std::size_t turns = replayed.record.turns.size();
    if (turns == 0) return 1;
    std::size_t same = 0;
    for (std::size_t turn = 0; turn < replayed.turns.size(); ++turn) {
        const bool differs = std::ranges::any_of(replayed.differences, [&](const Difference& each) {
            return each.turn == turn && each.kind != DifferenceKind::answer && each.kind != DifferenceKind::text;
        });
        if (!differs) ++same;
    }
    return static_cast<double>(same) / static_cast<double>(turns);
}

}  // namespace stategraph::agent
