#pragma once
#include <stategraph/detail/chrono.hpp>
#include <vector>

#include <stategraph/command.hpp>
#include <stategraph/config.hpp>
#include <stategraph/interrupt.hpp>
#include <stategraph/saver.hpp>

namespace stategraph {

/// How answers are stored.
struct AnswerOptions {
    /// When the answers reach the disk, as for a run; `exit` means `async` here.
    Durability durability = Durability::async;
    /// What to do if a run of this process, through the same saver object, is under way on the thread.
    OnBusy on_busy = OnBusy::reject;
    /// How long to wait for that run; then ThreadBusyError.
    std::chrono::milliseconds busy_timeout = std::chrono::minutes(1);
};

/// Stores answers to open questions of a thread's newest checkpoint and runs nothing: a program without the graph can
/// answer. `recover()` or RESUME, by the program that has the graph, then takes them. The questions of subgraphs are
/// among the thread's own, so `config` names the thread alone; its `checkpoint_id`, if given, must be the newest.
///
/// Stores exactly what a run that is resumed with these answers stores, in one atomic write. When all questions of a
/// task are answered the thread is in flight (Status::in_flight), however its last run ended; while one of the task
/// is open it stays interrupted. Values are not checked against the type that the node expects: the node refuses a
/// wrong one when it reads it, and asks again.
///
/// Returns the questions that are still open. Errors: UnknownInterruptError for answers that do not fit what waits;
/// InvalidArgumentError for a thread that does not exist or is cancelled; ThreadBusyError; ConcurrentUpdateError if the
/// thread changes all the time; CorruptCheckpointError for records that cannot be read; SaverError. If two answers to
/// one question come at the same time, exactly one is stored. Safe from any thread. Cost: one read of the newest
/// checkpoint and one put.
std::vector<Interrupt> answer(BaseCheckpointSaver& saver, const Config& config, const std::vector<Answer>& answers,
                              const AnswerOptions& options = {});

/// Answers the only open question. Errors: as above.
std::vector<Interrupt> answer(BaseCheckpointSaver& saver, const Config& config, const Value& value,
                              const AnswerOptions& options = {});

}  // namespace stategraph
