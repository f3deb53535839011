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
    /// Where the next page begins; none: there is no more. With it there may be fewer questions than `limit`, or none.
    std::optional<ThreadPlace> next;
};

/// The threads that ask, until they have `limit` questions (at least 1) together; all questions of a thread are on one
/// page. `before`: only threads after this place. Errors: those of the saver. Cost: with an index of threads, looks at
/// the entries of the open threads up to the end of the page (at most `looks_max`), reads the newest checkpoints of
/// those that ask or may ask (at most `reads_max`, and those of one page of entries more), and stores in the index what
/// it does not know of them; without one, reads those of every thread.
QuestionPage openQuestionsOf(BaseCheckpointSaver& saver, const std::optional<ThreadPlace>& before, std::size_t limit,
                             std::size_t looks_max = 20'000, std::size_t reads_max = 2'000);

}  // namespace stategraph::inspect
