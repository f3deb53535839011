#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>

#include <stategraph/detail/print_enum.hpp>
#include <stategraph/postgres_saver.hpp>

namespace stategraph {

/// What a notification is about.
enum class PostgresNotice : std::uint8_t {
    listening,  // the listener has connected; what was sent before may have been lost
    work,       // a queue has work to do; `name` is the queue, empty: any of them
    cancel,     // a thread of the queue was cancelled
    commit,     // a commit was appended to the thread `name`; empty: to some threads
};
/// The name of a notice, as in the enumeration.
const char* toString(PostgresNotice notice) noexcept;

/// The options of a PostgresListener. The functions are called on its thread, one after the other, and what they throw
/// is ignored.
struct PostgresListenerOptions {
    /// Required. Notifications are hints: one can be lost, come late, come twice, or be sent by another program, so a
    /// receiver only looks sooner at what it would look at anyway.
    std::function<void(PostgresNotice notice, const std::string& name)> on_notice = {};
    /// Called when the connection cannot be made, breaks, or passes on no notifications. The listener tries again,
    /// after a pause that grows from 100 ms to 5 s.
    std::function<void(const std::exception_ptr& error)> on_error = {};
};

/// Receives the notifications that PostgresSavers of the same schema send (PostgresSaverOptions::notify), with a
/// connection and a thread of its own, which connects again whenever the connection breaks. A program calls
/// StreamHub::notify for a `commit`; a Worker with WorkerOptions::listen has a listener itself.
///
/// It needs a connection to the server itself, because a pooler in transaction mode passes on no notifications. After
/// connecting it sends a notification to itself, and reports an error if that does not come.
///
/// After fork() the child must only destroy an object that its parent made. Link `stategraph::postgres`.
class PostgresListener {
public:
    /// Uses the saver's server, schema and timeouts, and does not keep the saver. Does not wait for the connection.
    /// Errors: InvalidArgumentError for null, without `on_notice`, and for a saver that was opened for a pooler
    /// (`prepared_statements` off); std::system_error if no thread can be started.
    PostgresListener(const std::shared_ptr<PostgresSaver>& saver, PostgresListenerOptions options);
    PostgresListener(const PostgresListener&) = delete;
    PostgresListener& operator=(const PostgresListener&) = delete;
    /// Returns when no function of the options is running any more. While the server does not answer, this may take as
    /// long as the saver's `connect_timeout` or `statement_timeout`.
    ~PostgresListener();

    /// How often it has connected.
    std::uint64_t connections() const noexcept;
    /// How many notifications it has received, those that it does not understand included.
    std::uint64_t received() const noexcept;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
