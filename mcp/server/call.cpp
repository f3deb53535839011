#include "mcp/server/call.hpp"

#include <array>
#include <random>
#include <utility>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/detail/utf8.hpp>
#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "mcp/message.hpp"
#include "mcp/server/peer.hpp"
#include "mcp/server/question.hpp"

// What a call begins with, its runs, and its reports of progress.
namespace stategraph::mcp::detail {

namespace json = boost::json;

namespace {

constexpr std::size_t progress_text_max = 4096;
constexpr const char* tool_key = "mcp_tool";  // of the metadata of runs

std::string newThread() {
    thread_local std::random_device source;
    constexpr std::string_view digits = "0123456789abcdef";
    std::string name;
    for (int i = 0; i < 32; ++i) name += digits[source() % digits.size()];
    return name;
}

/// Takes a member out of the arguments.
std::optional<json::value> taken(json::object& arguments, std::string_view name) {
    json::value* const found = arguments.if_contains(name);
    if (found == nullptr) return {};
    std::optional<json::value> value = std::move(*found);
    arguments.erase(name);
    return value;
}

ThreadId threadIn(const json::value& named) {
    const json::string* const text = named.if_string();
    if (text == nullptr || text->empty() || text->size() > ThreadId::size_max)
        throw InvalidArgumentError("\"thread_id\" is a text of 1 to " + std::to_string(ThreadId::size_max) + " bytes");
    return ThreadId(std::string_view(text->data(), text->size()));
}

std::vector<Answer> answersFrom(const json::value& given) {
    const json::array* const list = given.if_array();
    if (list == nullptr || list->empty())
        throw InvalidArgumentError("\"answers\" is a list of objects with \"id\" and \"value\"");
    std::vector<Answer> answers;
    for (const json::value& each : *list) {
        const json::object* const object = each.if_object();
        const json::value* const value = object == nullptr ? nullptr : object->if_contains("value");
        if (value == nullptr) throw InvalidArgumentError("each of \"answers\" has an \"id\" and a \"value\"");
        answers.emplace_back(TaskId(stringOf(*object, "id")), fromJson(*value));
    }
    return answers;
}

/// What a progress of a tool or a node says.
struct Reported {
    std::optional<double> progress = {};
    std::optional<double> total = {};
    std::string message = {};
};
Reported reportedIn(const json::value& value) {
    const json::object* const object = value.if_object();
    if (object != nullptr && object->size() == 3 && object->contains("call_id") && object->contains("tool") &&
        object->contains("progress")) {
        return reportedIn(object->at("progress"));  // of ToolContext::write
    }
    Reported told;
    if (value.is_number()) {
        told.progress = value.to_number<double>();
    } else if (value.is_string()) {
        told.message = std::string(value.get_string());
    } else if (object != nullptr && (object->contains("progress") || object->contains("message"))) {
        told = {numberOf(*object, "progress"), numberOf(*object, "total"), stringOf(*object, "message")};
    } else {
        told.message = stategraph::detail::jsonText(value);
    }
    return told;
}

}  // namespace

Call::Call(CallRequest request, const Offer& offer, std::shared_ptr<Outlet> outlet, std::shared_ptr<Runner> runner,
           std::weak_ptr<Peer> peer)
    : request_(std::move(request)),
      info_(offer.info()),
      result_bytes_max_(offer.options().result_bytes_max),
      outlet_(std::move(outlet)),
      runner_(std::move(runner)),
      peer_(std::move(peer)) {}

void Call::begin() noexcept {
    try {
        if (std::optional<Begun> begun = read()) run(*std::move(begun));
    } catch (...) {
        failedWith(std::current_exception());
    }
}

std::optional<Call::Begun> Call::read() { return request_.state.empty() ? readArguments() : readResponses(); }

std::optional<Call::Begun> Call::readArguments() {
    Begun begun{.start = {}, .config = request_.tool->options().config};
    json::object arguments = request_.arguments;
    std::optional<json::value> named;
    if (request_.tool->keepsThreads()) {
        named = taken(arguments, thread_argument);
        const std::optional<json::value> resume = taken(arguments, resume_argument);
        const std::optional<json::value> answers = taken(arguments, answers_argument);
        if ((resume || answers) && !named)
            throw InvalidArgumentError("an answer needs \"thread_id\", the thread whose question it answers");
        if ((resume ? 1 : 0) + (answers ? 1 : 0) + (arguments.empty() ? 0 : 1) > 1)
            throw InvalidArgumentError("give either \"resume\", or \"answers\", or other arguments");
        if (resume) begun.start.resume = fromJson(*resume);
        if (answers) begun.start.answers = answersFrom(*answers);
    }
    const ThreadId thread = named ? threadIn(*named) : ThreadId(newThread());
    if (!named || !arguments.empty()) begun.start.input = fromJson(json::value(std::move(arguments)));
    if (begun.start.input)
        serve::detail::checkInput(*begun.start.input, {.input_channels = request_.tool->options().input_channels});
    if (named) {
        const bool begins = begun.start.input.has_value();
        runner_->admit(*request_.tool, thread, request_.identity, begins, begun.config);
    }
    thread_ = thread;
    return begun;
}

std::optional<Call::Begun> Call::readResponses() {
    Begun begun{.start = {}, .config = request_.tool->options().config};
    const ThreadId thread = threadIn(json::value(request_.state));
    runner_->admit(*request_.tool, thread, request_.identity, false, begun.config);
    thread_ = thread;
    const std::vector<Interrupt> open = request_.tool->questions(thread_);
    std::vector<Answer> answers;
    for (const Interrupt& question : open) {
        const json::object* const result = objectIn(request_.responses, question.id.toString());
        if (result == nullptr) continue;
        std::optional<Value> answer = answerIn(*result, asked(*request_.tool, question));
        if (!answer) {
            failed("The person declined to answer. " + howToAnswer(open));
            return {};
        }
        answers.emplace_back(question.id, *std::move(answer));
    }
    if (answers.empty() && !open.empty()) {
        interrupted(open);
        return {};
    }
    if (!answers.empty()) begun.start.answers = std::move(answers);
    return begun;
}

void Call::run(Begun begun) {
    ToolWork work = request_.tool->prepare(std::move(begun.start));
    Metadata& metadata = begun.config.metadata;
    metadata.push_back({tool_key, Value(request_.tool->name())});
    if (request_.tool->keepsThreads()) sendProgress({}, {}, "thread " + std::string(thread_.view()));
    const std::shared_ptr<Call> self = shared_from_this();
    CallRun started{.tool = request_.tool, .thread = thread_, .identity = request_.identity};
    started.work = [self, work = std::move(work)](RunConfig config) { return drive(self, work, std::move(config)); };
    started.config = std::move(begun.config);
    started.then = [self] { self->settle(); };
    setRan(true);
    std::shared_ptr<RunControl> control;
    try {
        control = runner_->begin(std::move(started));
    } catch (...) {
        setRan(false);
        throw;
    }
    const stategraph::detail::LockGuard lock(mutex_);
    if (is_cancelled_) control->requestStop();
    if (!has_ended_) control_ = control;
}

void Call::setRan(bool has_run) {
    const stategraph::detail::LockGuard lock(mutex_);
    has_run_ = has_run;
}

Task<> Call::drive(std::shared_ptr<Call> call, ToolWork work, RunConfig config) {
    std::exception_ptr failure;
    try {
        const StreamOptions options{.modes = {StreamMode::updates, StreamMode::custom}};
        Task<ToolEnd> running =
            work(std::move(config), options, [call = call.get()](const StreamEvent& event) { call->report(event); });
        ToolEnd end = co_await std::move(running);
        const stategraph::detail::LockGuard lock(call->mutex_);
        call->end_ = std::move(end);
    } catch (...) {
        failure = std::current_exception();
    }
    if (!failure) co_return;
    {
        const stategraph::detail::LockGuard lock(call->mutex_);
        call->error_ = failure;
    }
    std::rethrow_exception(failure);  // for the server's figures
}

void Call::report(const StreamEvent& event) noexcept {
    if (request_.progress_token.empty() || outlet_->isFull()) return;
    try {
        if (event.mode == StreamMode::custom) {
            const Reported told = reportedIn(toJsonValue(event.data));
            sendProgress(told.progress, told.total, told.message);
        } else if (!event.node.empty() && request_.tool->keepsThreads()) {
            sendProgress({}, {}, event.node);
        }
    } catch (const std::exception&) {  // progress that cannot be shown is left out
    }
}

void Call::sendProgress(std::optional<double> progress, std::optional<double> total,
                        std::string_view message) noexcept {
    if (request_.progress_token.empty()) return;
    try {
        json::object params;
        {
            // It must increase from one notification to the next.
            const stategraph::detail::LockGuard lock(mutex_);
            if (is_cancelled_ || has_ended_) return;
            progress_ = progress && *progress > progress_ ? *progress : progress_ + 1;
            params["progress"] = progress_;
        }
        if (total) params["total"] = *total;
        if (!message.empty()) params["message"] = stategraph::detail::beginningOf(message, progress_text_max);
        std::string text = stategraph::detail::jsonText(params);
        text.pop_back();
        outlet_->send(
            notificationText("notifications/progress", text + ",\"progressToken\":" + request_.progress_token + "}"));
    } catch (const std::exception&) {
    }
}

}  // namespace stategraph::mcp::detail
