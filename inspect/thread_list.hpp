#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/saver.hpp>

#include "inspect/views.hpp"

namespace stategraph::inspect {

struct ThreadFilter {
    /// As ThreadView::status; or "open": all but "done".
    std::optional<std::string> status = {};
    /// No older than this.
    std::optional<std::chrono::seconds> since = {};
    /// In names and questions.
    std::optional<std::string> text = {};
    /// Threads whose newest checkpoint has these entries in its metadata, with equal values.
    Metadata metadata = {};
    std::size_t limit = 50;
    /// What is shown of a question (whose name is empty) and of an entry of the metadata, and what is searched; null:
    /// all of it.
    std::function<Value(Value value, const std::string& name)> shown = {};
    /// Only those after this place.
    std::optional<ThreadPlace> before = {};
    /// With an index of threads: how many of its entries, and how many threads' newest checkpoints, one call looks at.
    /// Then it returns what it has found, and where to continue.
    std::size_t looks_max = 20'000;
    std::size_t reads_max = 2'000;
};

struct ThreadList {
    /// The newest first: by when they were last written to, or began the run that they are in.
    std::vector<ThreadView> threads;
    /// Where the next page begins; none: there is no more. With it there may be fewer than `limit` threads, or none.
    std::optional<ThreadPlace> next;
    /// Of a store with few threads: of all that the filter takes, `status` left out, by status. Else of all threads, as
    /// the index has them, and those that are not "done" once more as "open": of each status at most `counted_max`.
    /// Threads of which the index knows nothing count as "in_flight".
    std::map<std::string, std::uint64_t> counts;
    static constexpr std::size_t counted_max = 10'000;
};

/// "customer=7" as an entry of metadata: the value is JSON, or the text itself where it is none. Errors:
/// InvalidArgumentError for a text without a name and '='.
MetadataEntry metadataEntryOf(const std::string& text);

/// Threads of a store. Cost: with an index of threads, a look at its entries (ThreadFilter::looks_max), and a read of
/// the newest checkpoint of each thread that is shown and of each whose entry does not say whether it is to be shown
/// (ThreadFilter::reads_max): its status is unknown, or it has no summary, or one in which something is left out. What
/// was read is then updated in the index. Of a store without one, or with few threads, a read of the newest checkpoint
/// of every thread. Memory for one page.
ThreadList listThreadsOf(BaseCheckpointSaver& saver, const ThreadFilter& filter);

}  // namespace stategraph::inspect
