#include <stategraph/serve/workflow_endpoint.hpp>

#include <optional>

#include <stategraph/error.hpp>
#include <stategraph/fields.hpp>
#include <stategraph/workflow/async.hpp>

namespace stategraph::serve {

namespace {

using workflow::Flow;

struct Start {
    Value input = {};
    std::optional<workflow::Values> state = {};
    static constexpr auto fields() {
        return stategraph::fields(field("input", &Start::input), field("state", &Start::state));
    }
};
struct Resume {
    std::optional<Value> data = {};
    std::string step = {};
    std::string label = {};
    std::string question = {};
    std::optional<std::int64_t> index = {};
    static constexpr auto fields() {
        return stategraph::fields(field("data", &Resume::data), field("step", &Resume::step, defaulted),
                                  field("label", &Resume::label, defaulted),
                                  field("question", &Resume::question, defaulted), field("index", &Resume::index));
    }
};

workflow::RunOptions optionsOf(const RunConfig& config) {
    workflow::RunOptions options;
    options.durability = config.durability;
    options.control = config.control;
    options.hub = config.hub;
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
        if (operation == Operation::resume) return resume(run, body);
        throw InvalidArgumentError("this is a workflow: its questions are answered with /resume");
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
    std::string state(const Config& config) override {
        return flow_.snapshot(config.thread_id.toString(), config.checkpoint_id);
    }
    std::string history(const Config& config, const HistoryOptions& options) override {
        std::vector<std::string> ids;
        for (const CheckpointId& id : flow_.history(config.thread_id.toString())) {
            if (options.limit && ids.size() == *options.limit) break;
            if (options.before.empty() || id < options.before) ids.push_back('"' + id.toString() + '"');
        }
        return detail::jsonList(ids);
    }

private:
    Begin start(const std::string& run, const Value& body) const {
        const auto given = body.asStrict<Start>();
        return [flow = flow_, run, given](RunConfig config) {
            workflow::RunOptions options = optionsOf(config);
            options.state = given.state;
            options.only_new = config.only_new;
            return ended(workflow::asyncStart(flow, run, given.input, std::move(options)));
        };
    }
    Begin resume(const std::string& run, const Value& body) const {
        const auto given = body.isNull() ? Resume() : body.asStrict<Resume>();
        if (!given.data) {
            return [flow = flow_, run](RunConfig config) {
                return ended(workflow::asyncRestart(flow, run, optionsOf(config)));
            };
        }
        workflow::ResumeTarget target;
        target.step = given.step;
        target.label = given.label;
        if (!given.question.empty()) target.question = TaskId(given.question);
        target.index = given.index;
        return [flow = flow_, run, target, data = *given.data](RunConfig config) {
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
