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
    /// The place where the next page begins; none if there are no more threads.
    std::optional<ThreadPlace> next;
};

/// Returns threads with open questions, until they have `limit` questions (at least 1) together. All questions of a
/// thread are on one page. If `before` is given, only threads after this place are included. Errors: those of the
/// saver. Cost: with an index of threads, it reads the newest checkpoints of the open threads up to the end of the
/// page, and stores in the index what they wait for if the index does not know it. Without an index, it reads the
/// newest checkpoint of every thread.
QuestionPage openQuestionsOf(BaseCheckpointSaver& saver, const std::optional<ThreadPlace>& before, std::size_t limit);

}  // namespace stategraph::inspect
