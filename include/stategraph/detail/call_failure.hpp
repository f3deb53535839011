#pragma once
#include <exception>

#include <stategraph/error.hpp>

namespace stategraph::detail {

/// Returns whether an exception says that the thread cannot be stored or read, or has another writer; also if a node or
/// a graph that it called reports that. It is no failure of a node, and ends the run.
bool isOfTheThread(const std::exception_ptr& thrown) noexcept;

/// A failure below what a node calls that is not a failure of the node: no policy and no error handler is used, and the
/// superstep is not committed, as if the graph that it calls were a node. It is one of the storage, below that graph or
/// below what a library on the graphs stores for itself; or an InvalidArgumentError with which such a library refuses
/// to continue a graph that has become another one.
template <class E>
class CallFailure : public E {
public:
    explicit CallFailure(const E& error) : E(error) {}
};

/// Calls `call`, and marks the exceptions that the storage throws.
template <class F>
decltype(auto) markingFailures(F&& call) {
    try {
        return call();
    } catch (const SaverError& error) {
        throw CallFailure<SaverError>(error);
    } catch (const ConcurrentUpdateError& error) {
        throw CallFailure<ConcurrentUpdateError>(error);
    } catch (const CorruptCheckpointError& error) {
        throw CallFailure<CorruptCheckpointError>(error);
    }
}

/// Calls `call`, which runs a graph, and marks the exception with which the graph refuses to continue what was stored
/// by another one.
template <class F>
decltype(auto) markingRefusals(F&& call) {
    try {
        return call();
    } catch (const InvalidArgumentError& error) {
        throw CallFailure<InvalidArgumentError>(error);
    }
}

}  // namespace stategraph::detail
