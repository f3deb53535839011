#include <algorithm>
#include <limits>

#include <stategraph/error.hpp>

#include "src/commit/metadata.hpp"
#include "src/commit/thread_reading.hpp"
#include "src/run/hub.hpp"
#include "src/run/invoke.hpp"
#include "src/value/times.hpp"

// Turns a call into a run: checks what a run shares with the runs inside it.
namespace stategraph::engine {
namespace {

using detail::CheckpointerKind;
using detail::Core;

}  // namespace

BaseCheckpointSaver* saverOf(const Core& core) {
    switch (core.options().checkpointer.kind()) {
        case CheckpointerKind::own:
            return core.options().checkpointer.saver().get();
        case CheckpointerKind::per_thread:
            throw InvalidArgumentError("PER_THREAD is for graphs that are nodes of others; give this one a saver");
        case CheckpointerKind::none:
        case CheckpointerKind::inherit:
            break;
    }
    return nullptr;
}

RunShared shareRun(const Core& core, const RunConfig& config, Events& events) {
    RunLimits::check(config);
    if (config.max_concurrency && *config.max_concurrency < 1) {
        throw InvalidArgumentError("max_concurrency is " + std::to_string(*config.max_concurrency) +
                                   "; it must be at least 1");
    }
    if (config.only_new && config.on_busy == OnBusy::replace) {
        throw InvalidArgumentError("only_new asks for a thread that nobody has begun, so there is no run to replace");
    }
    if (config.only_at && config.checkpoint_id) {
        throw InvalidArgumentError(
            "only_at asks for the newest checkpoint of the thread, and checkpoint_id names another one; give one of "
            "them");
    }
    BaseCheckpointSaver* saver = saverOf(core);
    if (saver != nullptr && config.thread_id.empty()) {
        throw InvalidArgumentError(
            "the graph has a checkpointer, so the run needs a thread_id to keep its checkpoints under");
    }
    if (saver == nullptr && (config.checkpoint_id || config.only_at)) {
        const CheckpointId id = config.only_at ? config.only_at : config.checkpoint_id;
        throw MissingCheckpointerError("a checkpoint_id was given, and the graph was compiled without a checkpointer",
                                       {.checkpoint_id = id.toString()});
    }
    std::shared_ptr<RunStop> stop;
    // Called only if there is a reason, because a result that is moved at once would stall on its stores.
    if (config.control != nullptr || config.timeout) stop = RunStop::of(config);
    if (config.hub != nullptr)
        events.attach(stream::topicForRun(*config.hub, core, saver, config.thread_id), saver != nullptr, stop);
    return {.config = &config,
            .saver = saver,
            .executor = &core.executor(),
            .concurrency = config.max_concurrency ? static_cast<std::size_t>(*config.max_concurrency)
                                                  : std::numeric_limits<std::size_t>::max(),
            .events = &events,
            .metadata = encodeMetadata(config.metadata),
            .stop = std::move(stop)};
}

void* placeOf(const Core& core, const RunShared& shared, void* values) noexcept {
    const bool may_leave = shared.stop != nullptr || core.topology().has_limits;
    return may_leave || core.schema().state().context != nullptr ? nullptr : values;
}

void giveValues(Run& run, void* values, detail::ChannelSet* present) {
    const detail::Schema& schema = run.core().schema();
    if (present != nullptr) *present = run.state().present();
    run.ownState();
    if (values != run.state().object()) schema.state().move(values, run.state().object());
    if (run.core().spec().output.size() == schema.size()) return;
    for (const auto& channel : schema.channels()) {
        if (!run.core().returns(channel.index)) channel.behaviour->reset(channel, schema.value(values, channel));
    }
}

void addRunContext(Error& error, const RunConfig& config) {
    error.addContext({.thread_id = config.thread_id.toString()});
}

}  // namespace stategraph::engine

namespace stategraph::detail {
namespace {

struct RunExtras {
    engine::ThreadReading* read = nullptr;
    engine::RunCheck* check = nullptr;
};

void runWith(const Core& core, RunInput& input, const RunConfig& config, engine::Events& events, void* values,
             ChannelSet* present, RunOutcome& outcome, RunExtras extras = {}) {
    try {
        engine::RunShared shared = engine::shareRun(core, config, events);
        shared.check = extras.check;
        engine::Run run(core, shared, nullptr, engine::placeOf(core, shared, values));
        if (extras.read != nullptr) run.haveReadBefore(*extras.read);
        RunOutcome& came_to = run.drive(std::move(input));
        if (values != nullptr) engine::giveValues(run, values, present);
        outcome = std::move(came_to);
    } catch (Error& error) {
        engine::addRunContext(error, config);
        throw;
    }
}

void runSilently(const Core& core, RunInput& input, const RunConfig& config, void* values, ChannelSet* present,
                 RunOutcome& outcome, RunExtras extras = {}) {
    if (config.hub == nullptr) {
        runWith(core, input, config, engine::Events::nobody(), values, present, outcome, extras);
    } else {
        engine::Events silent;
        runWith(core, input, config, silent, values, present, outcome, extras);
    }
}

}  // namespace

RunOutcome runIf(const Core& core, RunInput input, const RunConfig& config, engine::RunCheck& check) {
    RunOutcome outcome;
    runSilently(core, input, config, nullptr, nullptr, outcome, {.check = &check});
    return outcome;
}

RunOutcome run(const Core& core, RunInput input, const RunConfig& config, void* values, ChannelSet* present) {
    RunOutcome outcome;
    runSilently(core, input, config, values, present, outcome);
    return outcome;
}

void invoke(const Core& core, RunInput&& input, const RunConfig& config, RunOutcome& outcome, void* values) {
    runSilently(core, input, config, values, nullptr, outcome);
}

void invokeAfter(const Core& core, ThreadRead& read, RunInput&& input, const RunConfig& config, RunOutcome& outcome,
                 void* values) {
    runSilently(core, input, config, values, nullptr, outcome, {.read = static_cast<engine::ThreadReading*>(&read)});
}

void invoke(const Core& core, Writes&& input, const RunConfig& config, RunOutcome& outcome, void* values) {
    RunInput given;
    given.writes = std::move(input);
    invoke(core, std::move(given), config, outcome, values);
}

RunOutcome run(const Core& core, RunInput input, const RunConfig& config, const StreamOptions& options, EventSink& sink,
               void* values, ChannelSet* present) {
    engine::Events events(sink, options);
    RunOutcome outcome;
    runWith(core, input, config, events, values, present, outcome);
    return outcome;
}

}  // namespace stategraph::detail
