#pragma once

namespace stategraph {

/// The right to run a thread, among all processes that use its store (BaseCheckpointSaver::tryHold). It is given back
/// when this is destroyed.
class ThreadHold {
public:
    ThreadHold() = default;
    ThreadHold(const ThreadHold&) = delete;
    ThreadHold& operator=(const ThreadHold&) = delete;
    virtual ~ThreadHold() = default;
};

}  // namespace stategraph
