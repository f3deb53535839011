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
    /// A value of ThreadView::status, or "open" for all but "done".
    std::optional<std::string> status = {};
    /// The age limit of threads.
    std::optional<std::chrono::seconds> since = {};
    /// A text that must be in the name or in a question.
    std::optional<std::string> text = {};
    /// Entries that the newest checkpoint of a thread must have in its metadata, with equal values.
    Metadata metadata = {};
    std::size_t limit = 50;
    /// Returns the part of a question (whose name is empty) or of a metadata entry that is shown and searched. If it is
    /// null, everything is shown.
    std::function<Value(Value value, const std::string& name)> shown = {};
    /// If set, only threads after this place are included.
    std::optional<ThreadPlace> before = {};
    /// With an index of threads: how many of its entries, and how many threads' newest checkpoints, one call looks at.
    /// Then it returns what it has found, and where to continue.
    std::size_t looks_max = 20'000;
    std::size_t reads_max = 2'000;
};

struct ThreadList {
    /// The newest first, by the time at which they were last written to, or at which their current run began.
    std::vector<ThreadView> threads;
    /// Where the next page begins; none: there is no more. With it there may be fewer than `limit` threads, or none.
    std::optional<ThreadPlace> next;
    /// The number of threads by status. In a store with few threads, these are all threads that match the filter
    /// without `status`. In other stores, these are all threads as the index has them, at most `counted_max` for each
    /// status; threads that are not "done" are also counted as "open", and threads of which the index
    /// knows nothing count as "in_flight".
    std::map<std::string, std::uint64_t> counts;
    static constexpr std::size_t counted_max = 10'000;
};

/// Parses text such as "customer=7" into an entry of metadata. The value is JSON, or the text itself if it is not JSON.
/// Errors: InvalidArgumentError for a text without a name and '='.
MetadataEntry metadataEntryOf(const std::string& text);

/// Threads of a store. Cost: with an index of threads, a look at its entries (ThreadFilter::looks_max), and a read of
/// the newest checkpoint of each thread that is shown and of each whose entry does not say whether it is to be shown
/// (ThreadFilter::reads_max): it is in flight, or it has no summary, or one in which something is left out. What
/// was read is then updated in the index. Without an index, or with few threads, the newest checkpoint of every thread
/// is read. Memory for one page.
ThreadList listThreadsOf(BaseCheckpointSaver& saver, const ThreadFilter& filter);

}  // namespace stategraph::inspect
