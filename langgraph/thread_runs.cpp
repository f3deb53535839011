#include "langgraph/thread_runs.hpp"

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <stategraph/detail/thread_read.hpp>

#include "langgraph/run_request.hpp"
#include "langgraph/thread_events.hpp"

namespace stategraph::langgraph {

EventRun eventRunOf(const RunRecord& run, int recursion_limit) {
    return {.run_id = run.run_id,
            .thread_id = run.thread_id,
            .graph_id = run.graph_id,
            .assistant_id = run.assistant_id,
            .metadata = storedMetadata(run),
            .recursion_limit = recursion_limit};
}

namespace {

/// What clients are told of errors. It does not own the server, whose service owns the run that keeps it.
serve::ErrorText errorTextsOf(const Service& service, const LiveRun& run) {
    return [owner = service.weak_from_this(), graph = run.graph().id, thread = run.asked().thread_id](
               std::string_view what, std::string_view text) {
        const std::shared_ptr<const Service> kept = owner.lock();
        if (!kept) return std::string(what);
        const serve::ErrorText told = kept->errorTexts(graph, thread);
        return told ? told(what, text) : std::string(text);
    };
}

std::shared_ptr<ThreadEvents> eventsOf(const Service& service, const LiveRun& run, std::shared_ptr<ThreadFeed> feed) {
    EventJson shapes(eventRunOf(run.asked(), 0), run.graph().channels, errorTextsOf(service, run));
    return std::make_shared<ThreadEvents>(std::move(feed), std::move(shapes));
}

}  // namespace

bool isFollowed(const Service& service, const std::string& owner, const std::string& thread_id) {
    return service.thread_feeds->find(owner, thread_id) != nullptr;
}

std::shared_ptr<ThreadFeed> threadFeed(const Service& service, const std::string& owner, const std::string& thread_id) {
    return service.thread_feeds->of(owner, thread_id, [&] {
        bool has_run = false;
        service.records.forEachRun(thread_id, [&](RunRecord&&) {
            has_run = true;
            return false;
        });
        return has_run;
    });
}

void beginThreadEvents(const Service& service, LiveRun& run) {
    const RunRecord& asked = run.asked();
    if (asked.losesThread()) return;
    std::shared_ptr<ThreadEvents> events = run.threadEvents();
    if (!events) {
        std::shared_ptr<ThreadFeed> feed = flagOf(asked, thread_events_key)
                                               ? threadFeed(service, asked.owner, asked.thread_id)
                                               : service.thread_feeds->find(asked.owner, asked.thread_id);
        if (!feed) return;
        events = eventsOf(service, run, std::move(feed));
        run.threadEvents(events);
    }
    events->begin();
}

void endThreadEvents(const Service& service, LiveRun& run, const std::string& status) noexcept {
    try {
        std::shared_ptr<ThreadEvents> events = run.threadEvents();
        if (!events) {
            std::shared_ptr<ThreadFeed> feed = service.thread_feeds->find(run.asked().owner, run.asked().thread_id);
            if (!feed) return;
            events = eventsOf(service, run, std::move(feed));
            if (status == "success") events->stopped(hasQuestions(run.graph(), run.asked().thread_id));
        }
        events->end(status);
        run.threadEvents({});          // what has ended keeps no feed
    } catch (const std::exception&) {  // there is no memory, or no store; the thread's state says how it ended
    }
}

bool hasQuestions(const ServedGraph& graph, const std::string& thread_id) {
    switch (stategraph::detail::threadStatus(*graph.graph->core(), ThreadId(thread_id))) {
        case Status::interrupted:
        case Status::breakpoint:
            return true;
        default:
            return false;
    }
}

}  // namespace stategraph::langgraph
