#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <stategraph/agent/agent.hpp>
#include <stategraph/agent/state.hpp>
#include <stategraph/config.hpp>
#include <stategraph/fields.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/model/message.hpp>
#include <stategraph/saver.hpp>
#include <stategraph/value.hpp>

// Recorded conversations as tests: another model, or other instructions, on the same inputs, with the results of tools
// taken from the record. No tool is executed, and the recorded thread is only read.
namespace stategraph::agent {

/// A call of a tool in a record.
struct RecordedCall {
    /// The id in the record (model::ToolCall::id), and the tool.
    std::string id = {};
    std::string tool = {};
    /// The arguments as the model wrote them.
    Value arguments = {};
    /// Those with which a person approved the call instead; none: as the model wrote them.
    std::optional<Value> edited = {};
    /// The result; none: the call had none when its turn ended.
    std::optional<model::ToolResult> result = {};
    /// What models received in place of the result's output, such as pictures; empty: the output.
    std::vector<model::Part> content = {};
    /// The Command that the tool returned, as the thread had kept it.
    std::optional<Value> command = {};
    static constexpr auto fields() {
        return stategraph::fields(field("id", &RecordedCall::id), field("tool", &RecordedCall::tool),
                                  field("arguments", &RecordedCall::arguments), field("edited", &RecordedCall::edited),
                                  field("result", &RecordedCall::result),
                                  field("content", &RecordedCall::content, defaulted),
                                  field("command", &RecordedCall::command));
    }
};
/// An answer of the model and its calls.
struct RecordedStep {
    std::string text = {};
    std::vector<RecordedCall> calls = {};
    /// Whether the run was stopped while the model answered. Such an answer is not compared.
    bool is_aborted = false;
    static constexpr auto fields() {
        return stategraph::fields(field("text", &RecordedStep::text), field("calls", &RecordedStep::calls),
                                  field("is_aborted", &RecordedStep::is_aborted));
    }
};
/// What the user said, and the answers of the model that followed.
struct RecordedTurn {
    /// The messages that began the turn. Results of calls that the turn before left open are among them.
    std::vector<model::Message> input = {};
    std::vector<RecordedStep> steps = {};
    static constexpr auto fields() {
        return stategraph::fields(field("input", &RecordedTurn::input), field("steps", &RecordedTurn::steps));
    }
};
/// A recorded conversation. It is plain data, which can be stored as JSON next to a test.
struct Record {
    std::string thread_id = {};
    std::vector<RecordedTurn> turns = {};
    static constexpr auto fields() {
        return stategraph::fields(field("thread_id", &Record::thread_id), field("turns", &Record::turns));
    }
};

/// Reads the conversation of a thread, as it is at `config`: the newest state, or that of a checkpoint or a branch.
/// What was edited, removed or approved with other arguments counts as it is there now. A call of a sub-agent is a call
/// like any other, with the sub-agent's answer as its result. Commands of tools are read from earlier checkpoints, as
/// far as these are kept. Errors: as CompiledGraph::getState. Cost: reads the history if a tool returns Commands.
Record recordOf(const Agent& agent, const Config& config);
/// Does the same with messages that were read in another way, for example from an agent inside a graph. Messages of the
/// role assistant count as answers of the model if it wrote them in an agent; otherwise they are part of the input. It
/// has no Commands: after a hand-off, the replayed model is asked where another agent had answered.
Record recordOf(std::string thread_id, const std::vector<model::Message>& messages);

/// What becomes of a call that the record does not have.
enum class OnUnrecorded : std::uint8_t {
    stop,  // the replay ends
    fail,  // the model receives an error as the result
};

/// The options of a replay.
struct ReplayOptions {
    /// Gives the result of a call that the record does not have, or none.
    std::function<std::optional<ClientResult>(const model::ToolCall& call)> answer_call = {};
    /// What becomes of a call that the record does not have, and `answer_call` does not answer.
    OnUnrecorded on_unrecorded = OnUnrecorded::stop;
    /// Answers the questions of middleware; the questions about calls are answered from the record. None: the replay
    /// ends.
    std::function<std::optional<Value>(const Interrupt& question)> answer_question = {};
    /// Where the replayed thread is stored, for example to look at it in the inspector; null: in memory.
    std::shared_ptr<BaseCheckpointSaver> saver = {};
    /// The id of the replayed thread, which must be new in the saver. Empty: "replay-", and the id of the record.
    std::string thread_id = {};
    /// What middleware sees in Runtime::context.
    RunContext context = {};
};

/// In what a replay went another way.
enum class DifferenceKind : std::uint8_t {
    calls,      // other tools were called, or none
    arguments,  // the same tools were called with other arguments
    text,       // the text beside the calls is another one
    answer,     // the turn's final answer is another one
    question,   // a question was not answered
    failure,    // the run failed, or ended otherwise
};
/// The name, such as "calls".
const char* toString(DifferenceKind kind) noexcept;
/// The names under which kinds are stored.
constexpr auto enumNames(DifferenceKind) {
    return stategraph::enumNames<DifferenceKind>({{"calls", DifferenceKind::calls},
                                                  {"arguments", DifferenceKind::arguments},
                                                  {"text", DifferenceKind::text},
                                                  {"answer", DifferenceKind::answer},
                                                  {"question", DifferenceKind::question},
                                                  {"failure", DifferenceKind::failure}});
}
/// A place where a replay went another way.
struct Difference {
    DifferenceKind kind = DifferenceKind::answer;
    /// The turn and the answer of the model in it, from 0.
    std::size_t turn = 0;
    std::size_t step = 0;
    /// Both, as texts for people: calls as `name({"argument":1})`, or the answer.
    std::string recorded = {};
    std::string replayed = {};
    static constexpr auto fields() {
        return stategraph::fields(field("kind", &Difference::kind), field("turn", &Difference::turn),
                                  field("step", &Difference::step), field("recorded", &Difference::recorded),
                                  field("replayed", &Difference::replayed));
    }
};

/// What came of a replay.
struct Replayed {
    /// The record.
    Record record = {};
    /// The id of the replayed thread, and its turns in the same form.
    std::string thread_id = {};
    std::vector<RecordedTurn> turns = {};
    /// In order. A turn has at most two: the first step that differs, and its final answer.
    std::vector<Difference> differences = {};
    /// The calls that the record does not have, as the model wrote them.
    std::vector<RecordedCall> unrecorded = {};
    /// The calls of the record that were not made.
    std::vector<RecordedCall> unused = {};
    /// Whether all turns of the record were replayed.
    bool is_complete = false;
    /// What the replay cost, without what the record's tools cost.
    model::Usage usage = {};

    bool isSame() const noexcept { return differences.empty() && is_complete; }
    static constexpr auto fields() {
        return stategraph::fields(field("record", &Replayed::record), field("thread_id", &Replayed::thread_id),
                                  field("turns", &Replayed::turns), field("differences", &Replayed::differences),
                                  field("unrecorded", &Replayed::unrecorded), field("unused", &Replayed::unused),
                                  field("is_complete", &Replayed::is_complete), field("usage", &Replayed::usage));
    }
};

/// Runs an agent of these options on the inputs of a record. Its calls of tools are answered from the record: a call
/// with the same tool and arguments, as the model wrote them, gets the recorded result, declined and edited calls
/// included; several equal calls get theirs in order. The options' saver, cache, breakpoints, approval rules and limits
/// of tools are not used; their models, conditions and middleware are, without hooks around tools. Blocks until the
/// last turn has ended. Errors: InvalidGraphError for options that make no agent; ThreadExistsError if the saver has
/// the thread. What a run fails with is a Difference.
Replayed replay(const Record& record, Options options, const ReplayOptions& replay = {});

/// A function that judges a replay: it returns a number, or anything storable.
struct Scorer {
    std::string name = {};
    std::function<Value(const Replayed&)> score = {};
};
/// A row of a table of scores.
struct ScoredReplay {
    std::string thread_id = {};
    /// One for each scorer, in order; null if it threw.
    std::vector<Value> scores = {};
    /// The texts of what scorers threw, or why the replay could not begin; empty: nothing.
    std::string error = {};
    Replayed replayed = {};
    static constexpr auto fields() {
        return stategraph::fields(field("thread_id", &ScoredReplay::thread_id), field("scores", &ScoredReplay::scores),
                                  field("error", &ScoredReplay::error), field("replayed", &ScoredReplay::replayed));
    }
};
/// Scores of several records.
struct ScoreTable {
    std::vector<std::string> scorers = {};
    std::vector<ScoredReplay> rows = {};
    /// The mean of each scorer's numbers; none if it gave no number.
    std::vector<std::optional<double>> means = {};
    static constexpr auto fields() {
        return stategraph::fields(field("scorers", &ScoreTable::scorers), field("rows", &ScoreTable::rows),
                                  field("means", &ScoreTable::means));
    }
};
/// Replays each record, one after the other, and scores it.
ScoreTable scoreReplays(std::span<const Record> records, const Options& options, const std::vector<Scorer>& scorers,
                        const ReplayOptions& replay = {});

/// The part of the record's turns in which the same tools were called with the same arguments, from 0 to 1.
double sameCalls(const Replayed& replayed);

}  // namespace stategraph::agent
