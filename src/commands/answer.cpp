#include <stategraph/answer.hpp>

#include <set>
#include <span>
#include <string>
#include <utility>

#include <stategraph/error.hpp>

#include "src/checkpoint/commit_fields.hpp"
#include "src/checkpoint/due_tasks.hpp"
#include "src/checkpoint/paths.hpp"
#include "src/commands/store.hpp"
#include "src/commit/changed_records.hpp"
#include "src/commit/open_questions.hpp"
#include "src/threads/thread_claim.hpp"

// answer: stores the answers without a run. It writes what a run that is resumed with answers stores first.
namespace stategraph {
namespace {

using engine::OpenQuestion;

// How often the write is tried again if another writer was first.
constexpr int attempts_max = 16;

/// Holds either named answers or one answer for the only question.
struct Given {
    std::span<const Answer> named;
    const Value* only = nullptr;
};

std::string asStored(std::string_view stored) { return std::string(stored); }

CheckpointTuple readNewest(BaseCheckpointSaver& saver, const LogName& log, CheckpointId wanted) {
    auto tuple = saver.getTuple({.log = log});
    if (!tuple)
        throw InvalidArgumentError(
            "there is nothing to answer: the thread has no checkpoint; check its name, or list the saver's threads");
    if (wanted && tuple->id != wanted) {
        throw InvalidArgumentError("checkpoint " + wanted.toString() + " is not the thread's newest, which is " +
                                   tuple->id.toString() +
                                   ", so its questions are not asked any more; answer those of the newest, or fork "
                                   "this checkpoint (stategraph/fork.hpp) and let it ask again");
    }
    return std::move(*tuple);
}

// Writes the rows that change, and the note that the thread continues. Each is written only if it still is what was
// read.
void put(BaseCheckpointSaver& saver, const LogName& log, const CheckpointTuple& tuple,
         const checkpoint::Records& records, const std::set<std::string_view>& touched, bool sync) {
    engine::ChangedRecords changed(tuple, records, touched);
    if (engine::sayStopped(records)) changed.noteRun(checkpoint::run_goes_on);
    commands::store(saver, {.log = log,
                            .expected_head = tuple.head,
                            .commits = {},
                            .writes = changed.rows(),
                            .sync = sync,
                            .answers = true});
}

std::vector<Interrupt> tryAnswer(BaseCheckpointSaver& saver, const Config& config, const Given& given, bool sync) {
    const LogName log{config.thread_id.view(), ""};
    const CheckpointTuple tuple = readNewest(saver, log, config.checkpoint_id);
    const RowKey key{log.thread_id, log.checkpoint_ns, tuple.id};
    if (!tuple.commits.empty())
        checkpoint::readCommit(key, tuple.commits.back().bytes,
                               true);  // so that no answer is lost in a log that cannot be read
    checkpoint::Records records = checkpoint::readRecords(log, tuple.id, tuple.writes);
    if (checkpoint::saysCancelled(records)) {
        throw InvalidArgumentError(
            "the thread was cancelled (cancelThread), so its questions are closed; fork its checkpoint "
            "(stategraph/fork.hpp) or give it a new input to revive it");
    }
    const engine::GivenAnswers questions(saver, log, records, asStored);
    std::vector<Answer> answers(given.named.begin(), given.named.end());
    if (given.only != nullptr) answers.emplace_back(questions.only().asked.id, *given.only);
    const std::vector<const OpenQuestion*> matched = questions.match(answers);

    std::set<std::string_view> touched;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const Interrupt& asked = matched[i]->asked;
        matched[i]->record->answers.push_back({asked.id, asked.index, answers[i].value.bytes()});
        touched.insert(matched[i]->path);
    }
    put(saver, log, tuple, records, touched, sync);
    std::vector<Interrupt> left;
    for (OpenQuestion& each : engine::openQuestions(records)) left.push_back(std::move(each.asked));
    return left;
}

std::vector<Interrupt> answerAs(BaseCheckpointSaver& saver, const Config& config, const Given& given,
                                const AnswerOptions& options) {
    commands::checkConfig(config, "answer");
    try {
        // The claim is needed because a run of this process that asks at this moment would overwrite the answer.
        engine::ThreadClaim claim;
        claim.acquire(saver, config.thread_id.view(), options.on_busy, options.busy_timeout);
        for (int attempt = 1;; ++attempt) {
            try {
                return tryAnswer(saver, config, given, options.durability == Durability::sync);
            } catch (const ConcurrentUpdateError&) {
                if (attempt == attempts_max) throw;  // otherwise look again at what is open now
            }
        }
    } catch (Error& error) {
        error.addContext({.thread_id = config.thread_id.toString()});
        throw;
    }
}

}  // namespace

std::vector<Interrupt> answer(BaseCheckpointSaver& saver, const Config& config, const std::vector<Answer>& answers,
                              const AnswerOptions& options) {
    return answerAs(saver, config, {.named = answers}, options);
}

std::vector<Interrupt> answer(BaseCheckpointSaver& saver, const Config& config, const Value& value,
                              const AnswerOptions& options) {
    return answerAs(saver, config, {.named = {}, .only = &value}, options);
}

}  // namespace stategraph
