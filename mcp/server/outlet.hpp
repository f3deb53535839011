#pragma once
#include <string>

namespace stategraph::mcp::detail {

/// Where the messages about a request go. Safe from any thread.
class Outlet {
public:
    virtual ~Outlet() = default;
    /// A message before the answer.
    virtual void send(std::string message) noexcept = 0;
    /// The answer, and the code of its error if it is one; an empty text: there will be no answer. Nothing follows.
    virtual void finish(std::string message, int error_code = 0) noexcept = 0;
    /// Whether so much waits for the client that reports of progress are dropped.
    virtual bool isFull() const noexcept = 0;
};

}  // namespace stategraph::mcp::detail
