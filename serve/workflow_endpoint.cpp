#include <stategraph/serve/workflow_endpoint.hpp>

#include <optional>

#include <stategraph/error.hpp>
#include <stategraph/fields.hpp>
#include <stategraph/workflow/async.hpp>

#include "serve/workflow_errors.hpp"

namespace stategraph::serve {

namespace {

using workflow::Flow;

struct WorkflowStart {
    Value input = {};
    std::optional<workflow::Values> state = {};
    static constexpr auto fields() {
        return stategraph::fields(field("input", &WorkflowStart::input), field("state", &WorkflowStart::state));
    }
};
struct Resume {
    std::optional<Value> data = {};
    std::string step = {};
    std::string label = {};
    std::string question = {};
    std::optional<std::int64_t> index = {};
    bool all = false;
    static constexpr auto fields() {
        return stategraph::fields(field("data", &Resume::data), field("step", &Resume::step, defaulted),
                                  field("label", &Resume::label, defaulted),
                                  field("question", &Resume::question, defaulted), field("index", &Resume::index),
                                  field("all", &Resume::all, defaulted));
    }
};

workflow::RunOptions optionsOf(const RunConfig& config) {
    workflow::RunOptions options;
    options.durability = config.durability;
    options.control = config.control;
    options.hub = config.hub;
    options.observer = config.observer;
    options.timeout = config.timeout;
    options.max_concurrency = config.max_concurrency;
    if (const auto* const context = config.context.get<workflow::Values>()) options.context = *context;
    options.runtime_context = config.context;
    return options;
}

/// Of two requests for the same, one was first: that is a conflict, and not a mistake in the other one. Nor is it one
/// that the run belongs to another definition.
Task<> ended(Task<workflow::RunView> run) {
    try {
        co_await std::move(run);
    } catch (const workflow::RefusedError& error) {
        const bool is_conflict =
            error.why() == workflow::Refusal::already_claimed || error.why() == workflow::Refusal::changed_definition;
        if (!is_conflict) throw;
        throw ConcurrentUpdateError(error.message());
    }
}

class WorkflowEndpoint final : public Endpoint {
public:
    WorkflowEndpoint(const Flow& flow, EndpointOptions options)
        : Endpoint(std::move(options)), flow_(flow), hub_(flow.makeHub()) {}

    StreamHub& hub() noexcept override { return *hub_; }
    ThreadId threadOf(const ThreadId& name) const override { return flow_.threadOf(name.view()); }
    Begin prepare(Operation operation, const ThreadId& thread, const Value& body) override {
        const std::string run = thread.toString();
        if (operation == Operation::start) return start(run, body);
        if (operation == Operation::resume) return resume(run, body, hasEnded(thread));
        throw InvalidArgumentError("this is a workflow: its questions are answered with /resume");
    }
    bool hasEnded(const ThreadId& thread) override {
        using workflow::RunStatus;
        const RunStatus status = flow_.get(thread.toString()).status;
        return status == RunStatus::success || status == RunStatus::failed || status == RunStatus::canceled;
    }
    Status endingOf(const ThreadId& thread) override {
        using workflow::RunStatus;
        switch (flow_.get(thread.toString()).status) {
            case RunStatus::running:
                return Status::in_flight;
            case RunStatus::waiting:
                return Status::sleeping;
            case RunStatus::suspended:
                return Status::interrupted;
            case RunStatus::paused:
                return Status::breakpoint;
            case RunStatus::failed:
                return Status::failed;
            case RunStatus::canceled:
                return Status::cancelled;
            case RunStatus::pending:
            case RunStatus::success:
                break;
        }
        return Status::done;
    }
    void cancel(const ThreadId& thread, RunControl* under_way) override {
        using workflow::RunStatus;
        const std::string run = thread.toString();
        const bool was_canceled = under_way != nullptr && flow_.get(run).status == RunStatus::canceled;
        const RunStatus status = flow_.cancel(run).status;
        if (under_way == nullptr || status == RunStatus::running || (status == RunStatus::canceled && !was_canceled))
            return;
        // The run was requested, and had not begun when `flow_.cancel` looked for it. It ends where it begins.
        under_way->requestStop();
    }
    ThreadOwner ownerOf(const ThreadId& thread) override {
        const workflow::RunView run = flow_.get(thread.toString());
        ThreadOwner owner{.is_begun = !run.checkpoint_id.empty(), .checkpoint_id = run.checkpoint_id};
        if (const auto name = run.metadata.find(owner_key); name != run.metadata.end())
            owner.name = detail::ownerIn({{name->first, name->second}});
        return owner;
    }
    std::string state(const Config& config, const GetStateOptions&, const ErrorText& error_text) override {
        const std::string run = config.thread_id.toString();
        if (flow_.get(run, config.checkpoint_id).status == workflow::RunStatus::pending) return {};
        return withoutStepErrors(flow_.snapshot(run, config.checkpoint_id), error_text);
    }
    std::optional<Value> dataFor(const StreamEvent& event, const ErrorText& error_text) const override {
        std::optional<Value> changed = stepDataFor(event, error_text);
        if (!changed) return Endpoint::dataFor(event, error_text);
        StreamEvent shown = event;
        shown.data = *changed;
        std::optional<Value> more = Endpoint::dataFor(shown, error_text);
        return more ? more : changed;
    }
    std::string history(const Config& config, const HistoryOptions& options, const ErrorText&) override {
        std::vector<std::string> ids;
        for (const CheckpointId& id : flow_.history(config.thread_id.toString())) {
            if (options.limit && ids.size() == *options.limit) break;
            if (options.before.empty() || id < options.before) ids.push_back('"' + id.toString() + '"');
        }
        return detail::jsonList(ids);
    }

private:
    Begin start(const std::string& run, const Value& body) const {
        const auto given = body.asStrict<WorkflowStart>();
        return [flow = flow_, run, given](RunConfig config) {
            workflow::RunOptions options = optionsOf(config);
            options.state = given.state;
            options.only_new = config.only_new;
            for (const MetadataEntry& each : config.metadata) options.metadata.emplace(each.key, each.value);
            return ended(workflow::asyncStart(flow, run, given.input, std::move(options)));
        };
    }
    Begin resume(const std::string& run, const Value& body, bool has_ended) const {
        const auto given = body.isNull() ? Resume() : body.asStrict<Resume>();
        if (!given.data) {
            // Nothing would run, and no end would be told.
            if (has_ended) throw InvalidArgumentError("run '" + run + "' has ended, so there is nothing to resume");
            return [flow = flow_, run](RunConfig config) {
                return ended(workflow::asyncRestart(flow, run, optionsOf(config)));
            };
        }
        workflow::ResumeTarget target;
        target.step = given.step;
        target.label = given.label;
        if (!given.question.empty()) target.question = TaskId(given.question);
        target.index = given.index;
        target.all = given.all;
        return [flow = flow_, run, target, data = *given.data](RunConfig config) mutable {
            target.seen = config.only_at;
            return ended(workflow::asyncResume(flow, run, target, data, optionsOf(config)));
        };
    }

    Flow flow_;
    std::unique_ptr<StreamHub> hub_;
};

}  // namespace

std::shared_ptr<Endpoint> endpoint(const workflow::Flow& flow, EndpointOptions options) {
    return std::make_shared<WorkflowEndpoint>(flow, std::move(options));
}

}  // namespace stategraph::serve
