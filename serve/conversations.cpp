#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <boost/json.hpp>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/error.hpp>

#include "serve/ag_ui_request.hpp"
#include "serve/chat.hpp"
#include "serve/chosen_protocol.hpp"
#include "serve/conversation.hpp"
#include "serve/operations.hpp"
#include "serve/origin.hpp"
#include "serve/run_replay.hpp"
#include "serve/shown_message.hpp"
#include "serve/told.hpp"

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

std::optional<Connection::Reply> Connection::Operations::sendToRun(const Protocol& protocol, const ThreadId& thread,
                                                                   const Value& body, std::string_view strategy) {
    if (strategy == "reject") return {};
    const std::optional<ThreadOwner> found = connection_.threadFor(asked_, *endpoint_);
    if (!found) return connection_.noThread(request_, asked_);
    if (shared().options.owned && !found->is_begun) return {};  // whose it will be is not known yet
    if (strategy == "interrupt") {
        if (const auto run = shared().runs->find(*endpoint_, thread)) run->control()->requestStop();
        throw ThreadStoppingError("the run on this thread is being stopped; try again",
                                  {.thread_id = thread.toString()});
    }
    endpoint_->send(thread, body, strategy == "steer");
    try {
        // The run may have ended without it.
        const auto place = reserve(thread);
        if (const Begin work = endpoint_->takeSent(thread))
            return begin(protocol, thread, *place, work, false,
                         connection_.threadFor(asked_, *endpoint_).value_or(*found));
    } catch (const ThreadBusyError&) {  // the run takes it
    } catch (const NotNowError&) {      // it waits for the next turn
    }
    return json(http::status::accepted, "{\"sent\":\"" + std::string(strategy) + "\"}\n");
}

Connection::Reply Connection::Operations::chat() {
    const Protocol& protocol = uiProtocol(*endpoint_);
    if (asked_.unread_body) std::rethrow_exception(asked_.unread_body);
    const ChatRequest& chat = *asked_.chat;
    const ThreadId thread = chat.thread;
    std::unique_ptr<RunTable::Place> place;
    try {
        place = reserve(thread, chat.message);
    } catch (const ThreadStoppingError&) {
        throw;
    } catch (const ThreadBusyError&) {
        if (chat.start.isNull()) throw;
        if (std::optional<Reply> sent = sendToRun(protocol, thread, chat.start, chat.strategy)) return *std::move(sent);
        throw;
    }
    const std::optional<ThreadOwner> found = connection_.threadFor(asked_, *endpoint_);
    if (!found) return connection_.noThread(request_, asked_);
    try {
        const Begin work = chat.decisions.isNull() ? endpoint_->prepare(Operation::start, thread, chat.start)
                                                   : endpoint_->prepare(Operation::decide, thread, chat.decisions);
        Opening opening = answering(work, thread);
        if (!chat.decisions.isNull()) opening.shown = chat.shown;
        return begin(protocol, thread, *place, work, !chat.decisions.isNull(), *found, std::move(opening));
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
    if (!run) return isLeftBehind() ? continueTurn(protocol) : json(http::status::no_content, {});
    if (!run->replay()) return subscribe(protocol);  // of messages that waited, which no request has begun
    if (const char* const reason = Replay::reasonOf(run->replay()->state()))
        return json(http::status::service_unavailable, errorJson(reason));
    return Resumed{endpoint_, &protocol, run};
}

std::string Connection::Operations::stored(const ThreadId& thread, const GetStateOptions& options) const {
    try {
        return endpoint_->state({.thread_id = thread}, options, errorText());
    } catch (const MissingCheckpointerError&) {
        return {};
    }
}

bool Connection::Operations::isLeftBehind() const {
    // A request of another page's origin changes nothing.
    const bool may_run = endpoint_->holdsMessages() && !endpoint_->options().read_only &&
                         request_.method() == http::verb::get && !shared().is_draining &&
                         !isForeign(request_, shared().options.origins);
    if (!may_run || endpoint_->endingOf(route_.thread) != Status::in_flight) return false;
    // Who may only look at it does not begin a run of it under a name of their own.
    const ThreadOwner owner = endpoint_->ownerOf(route_.thread);
    return owner.is_begun && owner.name == (asked_.identity ? asked_.identity->name : "");
}

Connection::Reply Connection::Operations::continueTurn(const Protocol& protocol) {
    if (std::optional<Answer> refused = connection_.refusalOfRun(request_, asked_)) return *std::move(refused);
    const ThreadId thread = route_.thread;
    std::unique_ptr<RunTable::Place> place;
    try {
        place = reserve(thread);
    } catch (const ThreadBusyError&) {  // another page has come back at the same time
        if (auto run = shared().runs->find(*endpoint_, thread)) return Resumed{endpoint_, &protocol, std::move(run)};
        throw;
    }
    const std::optional<ThreadOwner> found = connection_.threadFor(asked_, *endpoint_);
    if (!found) return connection_.noThread(request_, asked_);
    const Begin work = endpoint_->prepare(Operation::resume, thread, {});
    return begin(protocol, thread, *place, work, false, *found, answerSoFar(protocol, thread));
}

Opening Connection::Operations::answerSoFar(const Protocol& ui, const ThreadId& thread) const {
    Opening opening;
    boost::system::error_code broken;  // the library wrote it
    const boost::json::value state = parsedText(stored(thread, {.subgraphs = true}), broken);
    if (!state.is_object()) return opening;
    const boost::json::array shown = uiConversation(ui, state.get_object(), {.limit = 1});
    if (shown.empty()) return opening;
    const boost::json::object& last = shown.front().get_object();
    if (textOf(last, "role") == "user") {
        opening.message = answerId(textOf(last, "id"));
    } else {
        opening.message = textOf(last, "id");
        opening.lines = linesOf(last);
        opening.shown = callsIn(last);
    }
    return opening;
}

Opening Connection::Operations::answering(const Begin& work, const ThreadId& thread) const {
    if (work.message_id.empty()) return {};
    const Protocol* const ui = findProtocol(*endpoint_, "ui");
    const std::string message = answerId(work.message_id);
    Opening opening;
    if (work.repeats && ui != nullptr) opening = answerSoFar(*ui, thread);
    if (opening.message != message) opening = {.message = message};
    return opening;
}

Connection::Reply Connection::Operations::messages() {
    const std::string_view as = route_.parameter("as");
    if (!as.empty() && as != "ui" && as != "langgraph") throw InvalidArgumentError("as must be ui or langgraph");
    if (!endpoint_->holdsMessages()) {
        throw InvalidArgumentError("the endpoint '" + route_.name +
                                   "' has no conversation: its state has no channel \"messages\" of model::Message");
    }
    const Protocol* const ui = as == "langgraph" ? nullptr : &uiProtocol(*endpoint_);
    const MessagePage page{.limit = limit(), .before = std::string(route_.parameter("before"))};
    std::string text = endpoint_->state(config(), {.subgraphs = true}, errorText());
    if (text.empty()) text = "{}";
    boost::system::error_code broken;  // the library wrote it
    const boost::json::value state = parsedText(text, broken);
    const boost::json::array shown =
        ui != nullptr ? uiConversation(*ui, state.as_object(), page) : langGraphConversation(state.as_object(), page);
    return json(http::status::ok, stategraph::detail::jsonText(shown) + "\n");
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
