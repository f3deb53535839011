#include <string>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <stategraph/error.hpp>

#include "serve/ag_ui_request.hpp"
#include "serve/chat.hpp"
#include "serve/chosen_protocol.hpp"
#include "serve/operations.hpp"
#include "serve/run_replay.hpp"

// The operations of clients that send their conversation, and what is kept of a run for those that reconnect.
namespace stategraph::serve {

std::unique_ptr<RunTable::Place> Connection::Operations::reserve(const ThreadId& thread,
                                                                 const std::vector<std::string>& lines) {
    std::shared_ptr<Replay> replay;
    if (const ServerOptions& options = shared().options; findProtocol(*endpoint_, "ui") != nullptr) {
        const Replay::Limits limits{.bytes = options.replay_bytes_max,
                                    .transient_parts = options.events_max,
                                    .bytes_of_all = options.replay_bytes_all};
        replay = std::make_shared<Replay>(limits, shared().replay_bytes);
    }
    if (replay) {
        replay->hold();
        for (const std::string& line : lines) replay->add(line);
    }
    return shared().runs->reserve(endpoint_, thread, std::move(replay), asked_.identity ? asked_.identity->name : "");
}

/// Records until the run has ended, even if this connection is closed.
void Connection::Operations::recordRun(Subscription subscription, const std::shared_ptr<ActiveRun>& run,
                                       bool takes_answers, const Opening& opening) {
    Recording recording{
        endpoint_, findProtocol(*endpoint_, "ui"), std::move(subscription), run, takes_answers, opening, errorText(),
        whose()};
    asio::co_spawn(connection_.socket_->get_executor(), record(std::move(recording), run->replay()), asio::detached);
}

Connection::Reply Connection::Operations::chat() {
    const Protocol& protocol = uiProtocol(*endpoint_);
    if (asked_.unread_body) std::rethrow_exception(asked_.unread_body);
    const ChatRequest& chat = *asked_.chat;
    const ThreadId thread = chat.thread;
    const auto place = reserve(thread, chat.message);
    const std::optional<ThreadOwner> found = connection_.threadFor(asked_, *endpoint_);
    if (!found) return connection_.noThread(request_, asked_);
    try {
        const Begin work = chat.decisions.isNull() ? endpoint_->prepare(Operation::start, thread, chat.start)
                                                   : endpoint_->prepare(Operation::decide, thread, chat.decisions);
        return begin(protocol, thread, *place, work, !chat.decisions.isNull(), *found, {.shown = chat.shown});
    } catch (const InvalidArgumentError& why) {
        if (chat.decisions.isNull()) throw;
        return json(http::status::conflict, errorJson(why));
    }
}

Connection::Reply Connection::Operations::chatStream() {
    const Protocol& protocol = uiProtocol(*endpoint_);
    if (!from().empty()) return subscribe(protocol);
    // The AI SDK asks whether there is a response to which it can reconnect.
    const std::shared_ptr<ActiveRun> run = shared().runs->find(*endpoint_, route_.thread);
    if (!run) return json(http::status::no_content, {});
    if (const char* const reason = Replay::reasonOf(run->replay()->state()))
        return json(http::status::service_unavailable, errorJson(reason));
    return Resumed{endpoint_, &protocol, run};
}

std::string Connection::Operations::stored(const ThreadId& thread) const {
    try {
        return endpoint_->state({.thread_id = thread}, errorText());
    } catch (const MissingCheckpointerError&) {
        return {};
    }
}

Connection::Reply Connection::Operations::agUi() {
    const Protocol& protocol = chooseProtocol(*endpoint_, "ag-ui");
    if (asked_.unread_body) std::rethrow_exception(asked_.unread_body);
    const AgUiRequest& request = *asked_.ag_ui;
    const ThreadId thread = request.thread;
    Opening opening = openingOf(request);
    opening.renames_messages = endpoint_->takesTexts();
    if (!request.beginsRun()) {
        SubscribeOptions options = subscribing(protocol);
        options.until = Until::idle;
        Subscription events = endpoint_->hub().subscribe(endpoint_->threadOf(thread), options);
        opening.only_reads = true;
        opening.state = stored(thread);
        return EventStream::Source{endpoint_,          &protocol,   std::move(events), nullptr, false,
                                   std::move(opening), errorText(), whose(),           thread};
    }
    const auto place = reserve(thread);
    const std::optional<ThreadOwner> found = connection_.threadFor(asked_, *endpoint_);
    if (!found) return connection_.noThread(request_, asked_);
    try {
        std::string state = stored(thread);
        const AgUiTurn turn = turnOf(request, *endpoint_, state);
        if (turn.repeats) opening.state = std::move(state);
        const Begin work = endpoint_->prepare(turn.operation, thread, turn.body);
        return begin(protocol, thread, *place, work, !request.resume.empty(), *found, std::move(opening));
    } catch (const InvalidUpdateError& why) {
        return json(http::status::bad_request, errorJson(why));
    } catch (const InvalidArgumentError& why) {
        return json(request.answers() ? http::status::conflict : http::status::bad_request, errorJson(why));
    }
}

}  // namespace stategraph::serve
