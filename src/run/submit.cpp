#include "src/run/submit.hpp"

#include <utility>

#include <stategraph/error.hpp>
#include <stategraph/stream_hub.hpp>

// submit: stores the beginning of a run without running it.
namespace stategraph::engine {
namespace {

using detail::RunInput;

// Returns the configuration of the run that stores: no observer is notified, and the beginning is stored before the
// call returns.
RunConfig quietly(const detail::Core& core, const RunInput& input, const RunConfig& config) {
    if (saverOf(core) == nullptr)
        throw MissingCheckpointerError(
            "submit stores what a later run continues with, and the graph was compiled without a checkpointer");
    if (input.kind == RunInput::Kind::command && config.checkpoint_id) {
        throw InvalidArgumentError(
            "a Command cannot be submitted to a checkpoint_id, as RESUME continues from the thread's newest "
            "checkpoint; "
            "fork that checkpoint first (stategraph/fork.hpp), then submit the Command to the thread",
            {.checkpoint_id = config.checkpoint_id.toString()});
    }
    RunConfig quiet = config;
    quiet.hub = nullptr;
    quiet.observer = nullptr;
    if (quiet.durability == Durability::exit) quiet.durability = Durability::async;
    return quiet;
}

}  // namespace

Submission::Submission(const detail::Core& core, const RunInput& input, const RunConfig& config)
    : core_(core),
      config_(quietly(core, input, config)),
      hub_(config.hub),
      shared_(shareRun(core, config_, Events::nobody())) {
    shared_.is_submission = true;
}

Config Submission::store(RunInput&& input) {
    const auto begin = [&] {
        Run run(core_, shared_);
        return std::move(run.drive(std::move(input)).config);
    };
    return end(begin());
}

Config Submission::end(Config stored) {
    shared_.claim.release();
    if (hub_ != nullptr) hub_->notify(config_.thread_id);
    return stored;
}

RunOutcome& Run::submitted() {
    noteHere();
    return outcome_;
}

}  // namespace stategraph::engine

namespace stategraph::detail {

Config submit(const Core& core, RunInput&& input, const RunConfig& config) {
    try {
        return engine::Submission(core, input, config).store(std::move(input));
    } catch (Error& error) {
        engine::addRunContext(error, config);
        throw;
    }
}

}  // namespace stategraph::detail
