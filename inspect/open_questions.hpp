#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include <stategraph/saver.hpp>
#include <stategraph/unfinished.hpp>

namespace stategraph::inspect {

struct QuestionPage {
    /// Threads with open questions, the newest first.
    std::vector<UnfinishedThread> threads;
    /// Where the next page begins; none: there is no more.
    std::optional<ThreadPlace> next;
};

/// The threads that ask, until they have `limit` questions (at least 1) together; all questions of a thread are on one
/// page. `before`: only threads after this place. Errors: those of the saver. Cost: with an index of threads, reads the
/// newest checkpoints of the open threads up to the end of the page, and stores in the index what they wait for if it
/// does not know; without one, of every thread.
QuestionPage openQuestionsOf(BaseCheckpointSaver& saver, const std::optional<ThreadPlace>& before, std::size_t limit);

}  // namespace stategraph::inspect
