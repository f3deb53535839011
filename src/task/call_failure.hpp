#pragma once
#include <stategraph/error.hpp>

namespace stategraph::engine {

/// A failure of the storage below a graph that a node called. It is not a failure of the node: no policy and no error
/// handler is used, and the superstep is not committed, as if the graph were a node.
template <class E>
class CallFailure : public E {
public:
    explicit CallFailure(const E& error) : E(error) {}
};

/// Calls `drive`, and marks the exceptions that the storage throws.
template <class F>
decltype(auto) markingFailures(F&& drive) {
    try {
        return drive();
    } catch (const SaverError& error) {
        throw CallFailure<SaverError>(error);
    } catch (const ConcurrentUpdateError& error) {
        throw CallFailure<ConcurrentUpdateError>(error);
    } catch (const CorruptCheckpointError& error) {
        throw CallFailure<CorruptCheckpointError>(error);
    }
}

}  // namespace stategraph::engine
