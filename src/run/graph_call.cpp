#include "src/run/graph_call.hpp"

#include <algorithm>
#include <tuple>

#include <stategraph/detail/log.hpp>
#include <stategraph/detail/utf8.hpp>
#include <stategraph/error.hpp>

#include "src/checkpoint/paths.hpp"
#include "src/run/invoke.hpp"
#include "src/superstep/task_context.hpp"

// Calls a graph from a node: takes its stored result if it has ended, and otherwise runs it inside the node's task.
namespace stategraph::engine {
namespace {

constexpr std::size_t call_key_bytes_max = 200;

bool isKept(const detail::Core& core, const detail::ChannelSpec& channel) noexcept {
    return core.returns(channel.index) && isStored(channel.kind);
}

// Returns {channel: value} of what the graph returns.
std::string encodeOutput(const detail::Core& core, const State& state) {
    const detail::Schema& schema = core.schema();
    const auto isOne = [&](detail::ChannelIndex index) {
        return state.has(index) && isKept(core, schema.channel(index));
    };
    const auto order = schema.encodedOrder();
    std::string cbor;
    Encoder out(cbor);
    out.map(static_cast<std::size_t>(std::ranges::count_if(order, isOne)));
    for (const detail::ChannelIndex index : order) {
        if (!isOne(index)) continue;
        const detail::ChannelSpec& channel = schema.channel(index);
        out.text(channel.name);
        channel.behaviour->encode(channel, state.value(channel), out);
    }
    return cbor;
}

void decodeOutput(const detail::Core& core, std::string_view cbor, State& state) {
    Decoder in(cbor);
    for (std::size_t count = in.map(); count > 0; --count) {
        const std::string_view name = in.text();
        const checkpoint::LogPiece piece{checkpoint::LogOp::set, in.raw()};
        const detail::ChannelSpec* channel = core.schema().find(name);
        if (channel == nullptr || !isKept(core, *channel)) continue;
        channel->behaviour->load(*channel, state.value(*channel), {&piece, 1});
    }
}

}  // namespace

GraphCall::GraphCall(Runtime& runtime, std::shared_ptr<const detail::Core> core, std::string_view key)
    : runtime_(runtime), context_(runtime.taskContext()), core_(std::move(core)), key_(key) {
    const auto held = context_.holdFor("cannot call a graph");
    env_ = held.env;
    task_ = held.task;
    check();
    const TaskId task = runtime.taskId();
    called_.caller = context_.failure == nullptr ? task : idOfCall(task, {});  // an error handler differs from its node
    called_.id = idOfCall(called_.caller, key_);
    called_.key = key_;
    path_ = checkpoint::effectPath(called_.id, "result");
}

void GraphCall::check() const {
    const ErrorContext where{.node = std::string(runtime_.node())};
    const auto refuse = [&](const std::string& why) {
        throw InvalidArgumentError("node '" + where.node + "' calls a graph with a key that " + why +
                                       "; give each call a text of 1 to " + std::to_string(call_key_bytes_max) +
                                       " bytes",
                                   where);
    };
    if (key_.empty() || key_.size() > call_key_bytes_max) refuse("has " + std::to_string(key_.size()) + " bytes");
    if (!detail::isUtf8(key_)) refuse("is not UTF-8");
    if (livesWithThread(*core_)) {
        throw InvalidArgumentError("node '" + where.node + "' calls a graph (key '" + key_ +
                                       "') that was compiled to remember its visits (PER_THREAD, perThread), and a "
                                       "call remembers nothing of others: "
                                       "compile it without, or add it to the graph as a node",
                                   where);
    }
}

GraphCall::~GraphCall() {
    if (is_listed_) {
        const detail::LockGuard lock(env_->shared.answers_mutex);
        if (child_) {
            std::optional<IdSequence>& ids = task_->useExtra().inner_ids;
            if (ids) {
                ids->observe(child_->env().ids);
            } else {
                ids = child_->env().ids;
            }
        }
        find()->is_under_way = false;
    }
    child_.reset();
    if (is_inside_attempt_) context_.endGraph();  // from here on the outer run may have been destroyed
}

NodeCall* GraphCall::find() noexcept {
    auto& calls = task_->useExtra().calls;
    const auto at = std::ranges::find(calls, called_.id, &NodeCall::id);
    return at == calls.end() ? nullptr : &*at;
}

bool GraphCall::restore(void* values) {
    const auto held = context_.hold();
    const Effects::Entry entry = env_->shared.effects.find(path_);
    if (!entry.result) return false;
    State state(core_->schema());
    try {
        decodeOutput(*core_, *entry.result, state);
    } catch (const WrongTypeError& why) {
        throw WrongTypeError("the stored result of the graph that node '" + std::string(runtime_.node()) +
                             "' called with the key '" + key_ + "' is not what it returns now: " + why.message());
    }
    env_->teller.noteInside(env_->place.idOf(*task_), *core_, state);
    core_->schema().state().move(values, state.object());
    return true;
}

Run& GraphCall::begin() {
    const auto held = context_.hold();
    TaskEnv& env = *env_;
    Task& task = *task_;
    bool is_first = context_.attempt == 1 && !task.progress.wasLeft();
    {
        const detail::LockGuard lock(env_->shared.answers_mutex);
        NodeCall* known = find();
        if (known != nullptr && known->is_under_way) {
            throw InvalidUpdateError("node '" + std::string(runtime_.node()) + "' calls a graph with the key '" + key_ +
                                         "' while its call with that key is under way: give calls that run at the same "
                                         "time different keys",
                                     {.node = std::string(runtime_.node()), .step = env.place.step});
        }
        if (known != nullptr) {
            is_first = false;
            *known = {.id = called_.id, .key = key_, .is_under_way = true};
        } else {
            const auto place = [](const NodeCall& call) { return std::tie(call.key, call.id); };
            std::vector<NodeCall>& calls = task.useExtra().calls;
            NodeCall call{.id = called_.id, .key = key_, .is_under_way = true};
            const auto at = std::ranges::lower_bound(calls, place(call), {}, place);
            calls.insert(at, std::move(call));
        }
        is_listed_ = true;
    }
    called_.stop = context_.beginGraph();
    is_inside_attempt_ = true;
    // The link is the same as a subgraph's (Execution::linkInside).
    link_.emplace(ParentLink{.env = &env, .task = &task, .start = env.startInside(is_first), .call = &called_});
    return child_.emplace(*core_, env.shared, &*link_);
}

void GraphCall::pause(const RunOutcome& outcome) {
    {
        const detail::LockGuard lock(env_->shared.answers_mutex);
        NodeCall& call = *find();
        call.asked = outcome.interrupts;
        call.wake_at = outcome.wake_at;
    }
    // The stop may be visible here before it is reported, because the thread that would report it is the one that drove
    // the call.
    const bool is_late = called_.stop != nullptr && called_.stop->requested() && !env_->stopStatus();
    if (is_late) context_.graphTimedOut();
    throw InnerPause{outcome.interrupts, outcome.wake_at};
}

Effects::Entry GraphCall::result() { return {.begun = 0, .result = encodeOutput(*core_, child_->state())}; }

void GraphCall::giveResult(void* values) {
    giveValues(*child_, values, nullptr);
    const detail::Schema& schema = core_->schema();
    for (const auto& channel : schema.channels()) {
        if (!isStored(channel.kind)) channel.behaviour->reset(channel, schema.value(values, channel));
    }
}

}  // namespace stategraph::engine

namespace stategraph::detail {

void callGraph(Runtime& runtime, const std::shared_ptr<const Core>& core, Writes&& input, std::string_view key,
               void* values) {
    engine::GraphCall call(runtime, core, key);
    if (call.restore(values)) return;
    engine::Run& run = call.begin();
    RunInput given;
    given.writes = std::move(input);
    call.end(values, [&]() -> auto& { return run.drive(std::move(given)); });
}

}  // namespace stategraph::detail
