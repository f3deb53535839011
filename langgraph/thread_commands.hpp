#pragma once
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <boost/json.hpp>

#include "langgraph/body.hpp"
#include "langgraph/call.hpp"
#include "langgraph/thread_feed.hpp"

// Commands of the second protocol, about the thread of a target's first id.
namespace stategraph::langgraph {

/// A command: {"id", "method", "params"}.
struct ThreadCommand {
    /// Errors: InvalidRequest.
    explicit ThreadCommand(const Body& body);
    std::int64_t id = 0;
    std::string method;
    Body params;
};

/// A command that cannot be done, with the protocol's word for why.
class CommandError : public std::runtime_error {
public:
    CommandError(std::string code, const std::string& text) : std::runtime_error(text), code_(std::move(code)) {}
    const std::string& code() const noexcept { return code_; }

private:
    std::string code_;
};

/// What a command returned.
struct CommandResult {
    boost::json::object result = {};
    /// The number of the newest event that it has caused, if it began a run.
    std::optional<std::uint64_t> applied = {};
};

/// Does a command. Errors: CommandError, ApiError, those of the library.
CommandResult doCommand(const Call& call, const ThreadCommand& command);

/// The replies. `feed`: of the thread; null: nobody has asked for it.
boost::json::object successJson(const ThreadCommand& command, CommandResult done, const Call& call,
                                const ThreadFeed* feed);
boost::json::object errorJson(boost::json::value id, const std::string& code, const std::string& text, const Call& call,
                              const ThreadFeed* feed);
/// The reply for an error; none: it is not about the command alone, such as that the thread is another user's.
std::optional<boost::json::object> refusalJson(const ThreadCommand& command, const std::exception_ptr& error,
                                               const Call& call, const ThreadFeed* feed);

/// Checks that a client may ask for the thread of a target. None: there is no such thread yet. Errors: ApiError.
std::optional<ThreadRecord> threadIfAny(const Call& call);

}  // namespace stategraph::langgraph
