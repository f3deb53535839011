#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/reply.hpp"

namespace stategraph::serve {

/// The operations for one request, one function each. To add one, add a function, and its row in the table.
class Connection::Operations {
public:
    struct Row {
        using Function = Reply (Operations::*)();
        // The compiler refuses a row without a function.
        constexpr Row(std::string_view m, std::string_view t, Function f) : method(m), target(t), answer(f) {}

        std::string_view method;  // "GET" also answers "HEAD"
        std::string_view target;  // see Route::fits; the endpoint of ":endpoint" exists when `answer` is called
        Function answer;

        /// The last segment of its target; "page" for the row of pages.
        constexpr std::string_view name() const {
            return target.empty() ? "page" : target.substr(target.rfind('/') + 1);
        }
    };
    /// Returns the first row that matches the target, and sets what `route` names. A target that matches no other row
    /// belongs to a page.
    static const Row& rowOf(Route& route);
    /// Says that there is nothing at a path, and which targets there are.
    static std::string nothingAt(const std::string& path);

    Operations(Connection& connection, const Request& request, const Asked& asked,
               const std::shared_ptr<Endpoint>& endpoint)
        : connection_(connection), request_(request), asked_(asked), route_(asked.route), endpoint_(endpoint) {}

private:
    static std::span<const Row> rows();

    Reply health();
    Reply ready() { return Ready(); }
    Reply metrics() { return connection_.metrics(request_); }
    Reply page();
    Reply schema();
    Reply state();
    Reply history();
    Reply messages();
    Reply events();
    Reply start() { return run(Operation::start); }
    Reply resume() { return run(Operation::resume); }
    Reply decide() { return run(Operation::decide); }
    Reply cancel();
    Reply chat();
    Reply chatStream();
    Reply agUi();

    Reply run(Operation operation);
    /// The state of a thread as JSON; empty if nothing is stored, or the graph stores nothing.
    std::string stored(const ThreadId& thread, const GetStateOptions& options = {}) const;
    /// What the response to a message of the user begins with.
    Opening answering(const Begin& work, const ThreadId& thread) const;
    /// The same for a response that continues the thread's last turn: what the answer has already.
    Opening answerSoFar(const Protocol& ui, const ThreadId& thread) const;
    /// Whether the process has died that drove the thread, or has left it when it ended, so that the page that comes
    /// back continues its turn.
    bool isLeftBehind() const;
    Reply continueTurn(const Protocol& protocol);
    /// How many entries of a list the client wants.
    std::size_t limit() const;
    SubscribeOptions subscribing(const Protocol& protocol) const;
    EventStream::Source subscribe(const Protocol& protocol);
    EventStream::Source begin(const Protocol& protocol, const ThreadId& thread, RunTable::Place& place,
                              const Begin& work, bool takes_answers, const ThreadOwner& found, Opening opening = {});
    /// Answers a message for a thread on which a run is under way; none if it is refused. Errors: those of the
    /// endpoint; ThreadStoppingError if the run is stopped for the message.
    std::optional<Reply> sendToRun(const Protocol& protocol, const ThreadId& thread, const Value& body,
                                   std::string_view strategy);
    /// `lines` is what a page that reconnects to the run is sent first.
    std::unique_ptr<RunTable::Place> reserve(const ThreadId& thread, const std::vector<std::string>& lines = {});
    void recordRun(Subscription subscription, const std::shared_ptr<ActiveRun>& run, bool takes_answers,
                   const Opening& opening);
    /// Returns the checkpoint that the target names.
    Config config() const;
    /// Returns the position after which the client wants events; empty means from now on.
    std::string_view from() const;
    Answer json(http::status status, std::string text) const {
        return connection_.textAnswer(request_, status, json_type, std::move(text));
    }
    Shared& shared() const { return *connection_.shared_; }
    LookWhose whose() const { return connection_.lookWhose(asked_, endpoint_); }
    ErrorText errorText() const { return shared().errors.texts({route_.name, std::string(asked_.thread())}); }

    Connection& connection_;
    const Request& request_;
    const Asked& asked_;
    const Route& route_;
    const std::shared_ptr<Endpoint>& endpoint_;  // null if the row's target has no ":endpoint"
};

}  // namespace stategraph::serve
