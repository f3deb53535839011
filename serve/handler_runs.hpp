#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <stategraph/executor.hpp>
#include <stategraph/run_control.hpp>
#include <stategraph/serve/admission.hpp>
#include <stategraph/serve/endpoint.hpp>
#include <stategraph/serve/server.hpp>

namespace stategraph::serve {

struct Shared;

/// What a server gives to the handlers of other rooms: they begin runs beside those of its endpoints, within its
/// limits, and drained and stopped with them. A copy does not keep the server. Safe from any thread.
class HandlerRuns {
public:
    /// Of no server.
    HandlerRuns() = default;
    explicit HandlerRuns(Server& server);

    struct Start {
        std::shared_ptr<Endpoint> endpoint;
        /// The name under which the run is counted and logged.
        std::string name;
        ThreadId thread;
        std::optional<Identity> identity = {};
        Begin work;
        RunConfig config = {};
        /// Called when the run has ended and its thread is free, on the executor. It must not throw.
        std::function<void()> then = {};
    };
    /// Begins a run and returns its control. Errors: ThreadBusyError if this server has a run of the endpoint on the
    /// thread; NotNowError if the server ends, or has as many runs as it may.
    std::shared_ptr<RunControl> begin(Start start) const;
    /// Whether the server has as many runs as it may.
    bool areAllPlacesTaken() const;
    /// Calls `call` once when a run of any door has ended, or now if there is a place. It must not throw, and may begin
    /// runs.
    void whenFree(std::function<void()> call) const;

    /// Counts what a client asks for toward its limits (ClientLimits::stored_bytes and runs). Returns
    /// how long it has to wait if it may not have it now.
    std::optional<std::chrono::seconds> count(const std::optional<Identity>& identity, std::string_view remote,
                                              std::size_t bytes, std::size_t runs) const;

    /// What clients are told of errors of a thread: null if the texts (ServerOptions::show_errors).
    ErrorText errorTexts(const std::string& name, const std::string& thread) const;
    /// Whether threads belong to users (ServerOptions::owned).
    bool areOwned() const;
    /// Whether the server begins no more runs.
    bool isEnding() const;
    /// On which runs are made.
    std::shared_ptr<Executor> executor() const;

private:
    std::weak_ptr<Shared> shared_;
};

}  // namespace stategraph::serve
