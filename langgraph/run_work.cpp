#include "langgraph/run_work.hpp"

#include <exception>
#include <optional>
#include <utility>

#include <boost/json.hpp>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/error.hpp>

#include "langgraph/identifiers.hpp"
#include "langgraph/live_runs.hpp"
#include "langgraph/run_events.hpp"
#include "langgraph/run_request.hpp"
#include "langgraph/run_settle.hpp"
#include "langgraph/state_json.hpp"
#include "langgraph/thread_runs.hpp"
#include "serve/error_texts.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

/// The name of an error's kind, as LangGraph's clients know it.
std::string nameOf(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const Error& known) {
        if (known.code() == Errc::recursion_limit) return "GraphRecursionError";
        if (known.code() == Errc::invalid_update) return "InvalidUpdateError";
        return "Error";
    } catch (...) {
        return "Error";
    }
}

/// How a run ended, in the words of clients; none: it is not over.
std::optional<std::string> endOf(const RunOutcome& outcome, const LiveRun& run, bool is_server_ending) {
    switch (outcome.status) {
        case Status::cancelled:
            if (!run.isCancelled() && is_server_ending) return {};
            return "interrupted";
        case Status::drained:
            return {};
        case Status::timed_out:
            return "timeout";
        default:
            return "success";
    }
}

std::string resultOf(const RunOutcome& outcome, const json::value& last_values) {
    // All questions, though each is an event of its own.
    if (outcome.status == Status::interrupted)
        return stategraph::detail::jsonText(json::object{{"__interrupt__", questionsJson(outcome.interrupts)}});
    if (outcome.status == Status::breakpoint) return R"({"__interrupt__":[]})";
    return last_values.is_null() ? std::string() : stategraph::detail::jsonText(last_values);
}

/// What a client sent as the input; null: it sent none.
const json::value& inputOf(const RunRecord& run) {
    static const json::value none;
    const json::value* const input = run.kwargs.if_contains("input");
    return input != nullptr ? *input : none;
}

bool waits(const RunOutcome& outcome) {
    return outcome.status == Status::interrupted || outcome.status == Status::breakpoint;
}

bool wasStopped(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const CancelledError&) {
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace

ReportedError reportedError(const std::exception_ptr& error, const ServedGraph& graph,
                            const serve::ErrorText& error_text) {
    std::exception_ptr original = error;
    std::string reason;
    try {
        std::rethrow_exception(error);
    } catch (const NodeError& failed) {
        original = failed.original();
        reason = failed.reason();
    } catch (...) {
    }
    if (const ReportError& tell = graph.graph->options().report_error) {
        try {
            std::rethrow_exception(original);
        } catch (const std::exception& thrown) {
            if (std::optional<ReportedError> told = tell(thrown)) return *std::move(told);
        } catch (...) {
        }
    }
    if (reason.empty()) return {nameOf(error), serve::toldFailure(error, error_text)};
    return {nameOf(original), error_text ? error_text(serve::failed_run, reason) : reason};
}

void reportFailure(LiveRun& run, const ReportedError& error) {
    if (const auto events = run.threadEvents()) events->failed(error);
    run.feed().add("error",
                   stategraph::detail::jsonText(json::object{{"error", error.name}, {"message", error.message}}));
}

std::string failureResult(const ReportedError& error) {
    return stategraph::detail::jsonText(
        json::object{{"__error__", {{"error", error.name}, {"message", error.message}}}});
}

Task<> drive(std::shared_ptr<Service> service, std::shared_ptr<LiveRun> run, RunConfig config) {
    const RunRecord& asked = run->asked();
    const ServedGraph& graph = run->graph();
    const serve::ErrorText error_text = service->errorTexts(graph.id, asked.thread_id);
    std::exception_ptr failed;
    try {
        run->feed().add("metadata", stategraph::detail::jsonText(
                                        json::object{{"run_id", asked.run_id}, {"attempt", asked.attempt}}));
        Settled settled;
        if (run->isLeftOver()) {
            settled = settle(*service, *run, config);
        } else {
            settled.work = noteStart(*service, *run, run->work());
        }
        const std::shared_ptr<ThreadEvents> thread_events = run->threadEvents();
        if (!settled.work) {
            if (thread_events) thread_events->stopped(hasQuestions(graph, asked.thread_id));
            service->runs->finish(*run, settled.status, {});
            co_return;
        }
        WantedModes wanted(modesOf(asked));
        StreamOptions options{.modes = wanted.reported(), .subgraphs = flagOf(asked, "subgraphs")};
        if (thread_events) options = {.modes = options.modes | ThreadEvents::reported(), .subgraphs = true};
        // Nothing can be read of a thread that is deleted at the end.
        if (asked.is_temporary) options.modes = options.modes | StreamMode::values;
        RunEvents events(
            eventRunOf(asked, config.recursion_limit.value_or(25)), std::move(wanted), flagOf(asked, "subgraphs"),
            graph.channels, error_text,
            [&run](std::string name, std::string data) { run->feed().add(std::move(name), std::move(data)); });
        const serve::detail::TakeEvent take = [&](const StreamEvent& event) {
            events.take(event);
            if (thread_events) thread_events->take(event);
        };
        events.begin(inputOf(asked));
        Task<RunOutcome> work = settled.work(std::move(config), options, take);
        const RunOutcome outcome = co_await std::move(work);
        if (const auto ended = endOf(outcome, *run, service->server.isEnding())) {
            if (*ended == "success") events.end();
            if (thread_events) thread_events->stopped(waits(outcome));
            service->runs->finish(*run, *ended, resultOf(outcome, events.lastValues()));
        } else {
            LiveRuns::leaveOpen(*run);
        }
    } catch (...) {
        failed = std::current_exception();
    }
    if (!failed) co_return;
    // It waited for its turn on the thread and was asked to stop, so it has not failed.
    if ((run->isCancelled() || service->server.isEnding()) && wasStopped(failed)) {
        if (run->isCancelled()) {
            service->runs->finish(*run, "interrupted", {});
        } else {
            LiveRuns::leaveOpen(*run);
        }
        co_return;
    }
    const ReportedError told = reportedError(failed, graph, error_text);
    reportFailure(*run, told);
    service->runs->finish(*run, "error", failureResult(told));
    std::rethrow_exception(failed);
}

}  // namespace stategraph::langgraph
