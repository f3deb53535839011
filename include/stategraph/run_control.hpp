#pragma once
#include <memory>
#include <string>

#include <stategraph/detail/opt_in.hpp>

namespace stategraph {

namespace detail {

struct RunControlParts;
struct RunControlLease;
struct RunControlDeleter {
    void operator()(RunControlParts* parts) const noexcept;
};
template <class T>
void stopTokenOf(const RunControlParts&, T*) {
    static_assert(never<T>, "stategraph: std::stop_token needs #include <stategraph/control.hpp>");
}
template <class Token>
void linkStop(RunControlParts&, const Token&, long) {
    static_assert(never<Token>,
                  "stategraph: a RunControl is linked to a std::stop_token, with #include <stategraph/control.hpp>, or "
                  "to another RunControl");
}

}  // namespace detail

/// Ends runs from outside: give it to them as `RunConfig::control` and keep it where you may want to end them. One
/// control may be given to several runs, also after it was used: they then end immediately. Every method is safe from
/// any thread. Creating one allocates.
class RunControl {
public:
    RunControl();
    /// The runs are also stopped, or drained, when `outer` is, so that one run of many can be ended alone. Null: no
    /// other control.
    explicit RunControl(std::shared_ptr<const RunControl> outer);
    /// Runs are also stopped when `outer` is, a std::stop_token (stategraph/control.hpp).
    template <class Token>
        requires requires(const Token& token) { token.stop_possible(); }
    explicit RunControl(const Token& outer) : RunControl() {
        linkStop(*parts_, outer, 0);
    }
    RunControl(const RunControl&) = delete;
    RunControl& operator=(const RunControl&) = delete;

    /// Ends the runs now, with Status::cancelled. What is committed, and what tasks of the current superstep have
    /// finished, is kept. Nodes see it in `Runtime::stopRequested` and in `stopToken()`; no node is waited for, and its
    /// late results are discarded. The thread counts as cancelled (Status::cancelled): `recover()` does not run it,
    /// RESUME continues it.
    void requestStop() noexcept;
    bool stopRequested() const noexcept;
    /// A std::stop_token (stategraph/control.hpp), for what a node waits on: sockets, condition variables, other
    /// libraries.
    template <class Included = void>
    auto stopToken() const {
        return stopTokenOf(*parts_, static_cast<Included*>(nullptr));
    }

    /// Ends the runs when the current superstep is done and committed, with Status::drained: for a process that is
    /// about to end, whose threads another one takes over (`recover()`). `reason` is for the caller's logs; the first
    /// request counts.
    void requestDrain(std::string reason = "shutdown");
    bool drainRequested() const noexcept;
    /// The reason of the drain; empty if none was requested.
    std::string drainReason() const;

private:
    friend struct detail::RunControlLease;

    std::unique_ptr<detail::RunControlParts, detail::RunControlDeleter> parts_;
};

}  // namespace stategraph
