#pragma once
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/run_control.hpp>
#include <stategraph/serve/admission.hpp>

#include "mcp/server/offer.hpp"
#include "mcp/server/outlet.hpp"
#include "mcp/server/runner.hpp"

namespace stategraph::mcp::detail {

class Peer;

/// What a client asks for with `tools/call`.
struct CallRequest {
    std::string id;  // as JSON
    std::shared_ptr<const ServedTool> tool;
    boost::json::object arguments = {};
    std::string progress_token = {};  // as JSON; empty: no progress is wanted
    /// Whether the version has no sessions: a question is the call's result, and another call has the answers.
    bool is_modern = false;
    /// Whether the client asks people (elicitation).
    bool can_ask = false;
    /// What a call repeats that was answered with questions: what they belong to, and the answers by id.
    std::string state = {};
    boost::json::object responses = {};
    std::optional<serve::Identity> identity = {};
};

/// One call: runs on a thread of the tool's graph, one after the other as long as the client answers questions, and one
/// answer. Safe from any thread.
class Call : public std::enable_shared_from_this<Call> {
public:
    Call(CallRequest request, const Offer& offer, std::shared_ptr<Outlet> outlet, std::shared_ptr<Runner> runner,
         std::weak_ptr<Peer> peer);

    const std::string& id() const noexcept { return request_.id; }
    /// Begins; an error is the call's answer.
    void begin() noexcept;
    /// Stops it. It gets no answer.
    void cancel() noexcept;
    /// The client's result of the elicitation under way; none: the client refused it with this error.
    void answered(const boost::json::object* result, std::string_view error) noexcept;

private:
    struct Begun {
        serve::detail::GraphStart start;
        RunConfig config;
    };
    /// Reads what to begin with, and the thread. None: questions are open, and no answer was given.
    std::optional<Begun> read();
    std::optional<Begun> readArguments();
    std::optional<Begun> readResponses();
    void run(Begun begun);
    static Task<> drive(std::shared_ptr<Call> call, ToolWork work, RunConfig config);
    void report(const StreamEvent& event) noexcept;
    void sendProgress(std::optional<double> progress, std::optional<double> total, std::string_view message) noexcept;

    void settle() noexcept;
    void settled(const ToolEnd& end);
    void interrupted(const std::vector<Interrupt>& questions);
    void askForInput(const std::vector<Interrupt>& questions);
    void askNext();
    std::string howToAnswer(const std::vector<Interrupt>& questions) const;
    void done(const ServedResult& result);
    void failed(std::string_view text);
    void failedWith(const std::exception_ptr& error) noexcept;
    std::string textOf(const std::exception_ptr& error) const;
    boost::json::object resultWith(std::string_view text, bool is_error) const;
    void finish(boost::json::object result, bool waits = false);
    void end(std::string message, bool waits) noexcept;
    bool isCancelled() const;
    void setRan(bool has_run);

    const CallRequest request_;
    const boost::json::object info_;
    const std::size_t result_bytes_max_;
    const std::shared_ptr<Outlet> outlet_;
    const std::shared_ptr<Runner> runner_;
    const std::weak_ptr<Peer> peer_;
    ThreadId thread_;  // set by `begin` when the caller may use it

    mutable stategraph::detail::Mutex mutex_;
    std::shared_ptr<RunControl> control_ SG_GUARDED_BY(mutex_);
    bool is_cancelled_ SG_GUARDED_BY(mutex_) = false;
    bool has_ended_ SG_GUARDED_BY(mutex_) = false;
    bool has_run_ SG_GUARDED_BY(mutex_) = false;
    std::optional<ToolEnd> end_ SG_GUARDED_BY(mutex_);
    std::exception_ptr error_ SG_GUARDED_BY(mutex_);
    /// The questions that the client is asked, the one under way first; and the answers so far.
    std::vector<Interrupt> questions_ SG_GUARDED_BY(mutex_);
    std::vector<Answer> answers_ SG_GUARDED_BY(mutex_);
    double progress_ SG_GUARDED_BY(mutex_) = -1;
};

}  // namespace stategraph::mcp::detail
