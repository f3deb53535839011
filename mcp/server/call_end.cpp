#include <string>
#include <utility>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/detail/utf8.hpp>
#include <stategraph/error.hpp>
#include <stategraph/json.hpp>

#include "mcp/message.hpp"
#include "mcp/server/call.hpp"
#include "mcp/server/peer.hpp"
#include "mcp/server/question.hpp"
#include "mcp/server/versions.hpp"
#include "serve/error_texts.hpp"

// How a call ends: its questions and its answer.
namespace stategraph::mcp::detail {

namespace json = boost::json;

namespace {

constexpr const char* thread_key = "stategraph/thread_id";  // of a result's _meta

/// Whether an error says what is wrong with the call, and not with the tool.
bool isAboutCall(Errc code) noexcept {
    switch (code) {
        case Errc::invalid_argument:
        case Errc::wrong_type:
        case Errc::empty_input:
        case Errc::invalid_update:
        case Errc::unknown_interrupt:
        case Errc::concurrent_update:
        case Errc::thread_busy:
        case Errc::thread_exists:
        case Errc::thread_changed:
            return true;
        default:
            return false;
    }
}

json::object textPart(std::string_view text) { return {{"type", "text"}, {"text", text}}; }

json::object filePart(const model::File& file) {
    const std::string_view type = file.media_type;
    const std::string_view uri = file.url.empty() ? "stategraph:result" : std::string_view(file.url);
    if (file.data.empty())
        return {{"type", "resource_link"}, {"uri", uri}, {"name", uri.substr(uri.rfind('/') + 1)}, {"mimeType", type}};
    const std::string_view kind = type.substr(0, type.find('/'));
    if (kind == "image" || kind == "audio") return {{"type", kind}, {"data", file.data}, {"mimeType", type}};
    return {{"type", "resource"}, {"resource", {{"uri", uri}, {"mimeType", type}, {"blob", file.data}}}};
}

}  // namespace

void Call::cancel() noexcept {
    bool waits = false;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        if (has_ended_ || is_cancelled_) return;
        is_cancelled_ = true;
        if (control_) control_->requestStop();
        waits = !questions_.empty();
    }
    if (waits) end({}, false);
}

bool Call::isCancelled() const {
    const stategraph::detail::LockGuard lock(mutex_);
    return is_cancelled_;
}

void Call::settle() noexcept {
    std::optional<ToolEnd> outcome;
    std::exception_ptr error;
    bool is_cancelled = false;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        control_.reset();
        outcome = std::move(end_);
        end_.reset();
        error = std::move(error_);
        error_ = nullptr;
        is_cancelled = is_cancelled_;
    }
    if (is_cancelled) return end({}, false);
    if (error) return failedWith(error);
    try {
        if (!outcome) return failed("The call did not begin: the server ends.");
        settled(*outcome);
    } catch (...) {
        failedWith(std::current_exception());
    }
}

void Call::settled(const ToolEnd& end) {
    const std::string again =
        request_.tool->keepsThreads()
            ? " To continue it, call this tool with {\"thread_id\": " + quotedJson(thread_.view()) + "} alone."
            : std::string();
    switch (end.outcome.status) {
        case Status::done:
            return done(end.result);
        case Status::interrupted:
            return interrupted(end.outcome.interrupts);
        case Status::breakpoint:
            return failed("The run stopped at a breakpoint." + again);
        case Status::sleeping:
            return failed("The run sleeps until a later time." + again);
        case Status::timed_out:
            return failed("The run took longer than it may." + again);
        default:
            return failed("The run was stopped by the server." + again);
    }
}

void Call::interrupted(const std::vector<Interrupt>& questions) {
    if (!request_.tool->canContinue())
        return failed("The tool asked a question that cannot be answered, because its graph has no saver.");
    if (!request_.can_ask) return failed("The call needs an answer. " + howToAnswer(questions));
    if (request_.is_modern) return askForInput(questions);
    {
        const stategraph::detail::LockGuard lock(mutex_);
        questions_ = questions;
        answers_.clear();
    }
    askNext();
}

void Call::askForInput(const std::vector<Interrupt>& questions) {
    json::object requests;
    for (const Interrupt& each : questions) {
        requests[each.id.toString()] = {{"method", "elicitation/create"},
                                        {"params", elicitationOf(asked(*request_.tool, each))}};
    }
    finish({{"resultType", "input_required"}, {"inputRequests", std::move(requests)}, {"requestState", thread_.view()}},
           true);
}

void Call::askNext() {
    std::optional<Interrupt> question;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        if (!questions_.empty()) question = questions_.front();
    }
    const std::shared_ptr<Peer> peer = peer_.lock();
    if (!peer || !question) return end({}, false);
    const json::object params = elicitationOf(asked(*request_.tool, *question));
    const std::int64_t id = peer->expect(shared_from_this());
    outlet_->send(requestText(id, "elicitation/create", stategraph::detail::jsonText(params)));
    if (isCancelled()) end({}, false);
}

void Call::answered(const json::object* result, std::string_view error) noexcept {
    try {
        std::vector<Interrupt> open;
        {
            const stategraph::detail::LockGuard lock(mutex_);
            if (is_cancelled_ || questions_.empty()) return;
            open = questions_;
        }
        const std::optional<Value> answer =
            result == nullptr ? std::nullopt : answerIn(*result, asked(*request_.tool, open.front()));
        if (!answer) {
            const std::string why = result == nullptr ? "The client could not ask: " + quotedPart(error) + "."
                                                      : "The person declined to answer.";
            return failed(why + " " + howToAnswer(open));
        }
        Begun begun{.start = {}, .config = request_.tool->options().config};
        {
            const stategraph::detail::LockGuard lock(mutex_);
            if (is_cancelled_ || questions_.empty()) return;
            answers_.emplace_back(questions_.front().id, *answer);
            questions_.erase(questions_.begin());
            if (questions_.empty()) begun.start.answers = std::exchange(answers_, {});
        }
        if (!begun.start.answers) return askNext();
        run(std::move(begun));
    } catch (...) {
        failedWith(std::current_exception());
    }
}

std::string Call::howToAnswer(const std::vector<Interrupt>& questions) const {
    std::string text;
    for (const Interrupt& each : questions) {
        text += "Question " + each.id.toString() + ": " + asked(*request_.tool, each).message + "\n";
    }
    if (!request_.tool->keepsThreads())
        return text + "Only a client that can ask a person (elicitation) can continue this call.";
    text += "To answer, call this tool again with {\"thread_id\": " + quotedJson(thread_.view());
    return text + (questions.size() == 1 ? ", \"resume\": ANSWER}."
                                         : ", \"answers\": [{\"id\": QUESTION, \"value\": ANSWER}]}.");
}

void Call::done(const ServedResult& result) {
    const std::string text =
        result.text.empty() && !result.structured.isNull() ? result.structured.toJson() : result.text;
    json::object made = resultWith(text, false);
    if (!result.structured.isNull()) made["structuredContent"] = toJsonValue(result.structured);
    for (const model::File& file : result.files) made["content"].as_array().push_back(filePart(file));
    if (request_.tool->keepsThreads())
        made["content"].as_array().push_back(textPart("thread_id: " + std::string(thread_.view())));
    finish(std::move(made));
}

void Call::failed(std::string_view text) { finish(resultWith(text, true)); }

void Call::failedWith(const std::exception_ptr& error) noexcept {
    try {
        failed(textOf(error));
    } catch (const std::exception&) {
        end({}, false);
    }
}

std::string Call::textOf(const std::exception_ptr& error) const {
    const serve::ErrorText told = runner_->errorTexts(*request_.tool, thread_);
    try {
        std::rethrow_exception(error);
    } catch (const NodeError& failure) {
        try {
            std::rethrow_exception(failure.original());
        } catch (const std::exception& original) {
            if (request_.tool->isForClient(original)) return failure.reason();
        } catch (...) {
        }
        return told ? told(serve::failed_run, failure.reason()) : failure.reason();
    } catch (const Error& known) {
        if (isAboutCall(known.code())) return known.what();
    } catch (...) {
    }
    return serve::toldFailure(error, told);
}

json::object Call::resultWith(std::string_view text, bool is_error) const {
    json::object result{{"content", json::array{textPart(text)}}};
    if (is_error) result["isError"] = true;
    if (request_.is_modern) result["resultType"] = "complete";
    return result;
}

void Call::finish(json::object result, bool waits) {
    json::object meta;
    if (request_.tool->keepsThreads() && !thread_.empty()) meta[thread_key] = thread_.view();
    if (request_.is_modern) meta[server_key] = info_;
    if (!meta.empty()) result["_meta"] = meta;
    std::string text = stategraph::detail::jsonText(result);
    if (text.size() > result_bytes_max_) {
        json::object larger =
            resultWith("The result has " + std::to_string(text.size()) + " bytes, and this server sends at most " +
                           std::to_string(result_bytes_max_) + ". Ask for less.",
                       true);
        if (!meta.empty()) larger["_meta"] = std::move(meta);
        text = stategraph::detail::jsonText(larger);
        waits = false;
    }
    end(answerText(request_.id, text), waits);
}

void Call::end(std::string message, bool waits) noexcept {
    bool has_run = false;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        if (has_ended_) return;
        has_ended_ = true;
        has_run = has_run_;
        if (is_cancelled_) message.clear();
        questions_.clear();
        control_.reset();
    }
    try {
        // A thread on which another call runs is that call's to forget.
        if (has_run || waits) request_.tool->callEnded(thread_, waits);
    } catch (const std::exception&) {  // what cannot be forgotten stays until its tool ends
    }
    // The client may send the same id again as soon as it has the answer.
    if (const std::shared_ptr<Peer> peer = peer_.lock()) peer->ended(*this);
    outlet_->finish(std::move(message));
}

}  // namespace stategraph::mcp::detail
