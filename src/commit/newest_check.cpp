#include "src/commit/newest_check.hpp"

#include <string>

#include <stategraph/error.hpp>

namespace stategraph::engine {

void checkNewest(CheckpointId wanted, CheckpointId newest) {
    if (wanted == newest) return;
    const std::string now =
        newest ? "its newest one is " + newest.toString() : std::string("it has no checkpoint, so it was deleted");
    throw ThreadChangedError("the thread is no longer at checkpoint " + wanted.toString() +
                                 ", and only_at allows nothing else; " + now + ". Read it again (getState)",
                             {.checkpoint_id = newest ? newest.toString() : std::string()});
}

void refuseKnown(CheckpointId newest, const char* remedy) {
    throw ThreadExistsError(
        std::string("the thread has been begun before, and only_new allows only a new one; read it (getState), ") +
            remedy,
        {.checkpoint_id = newest.toString()});
}

}  // namespace stategraph::engine
