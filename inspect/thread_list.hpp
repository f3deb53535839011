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
};

struct ThreadList {
    /// The newest first, by the time at which they were last written to, or at which their current run began.
    std::vector<ThreadView> threads;
    /// The place where the next page begins; none if there are no more threads.
    std::optional<ThreadPlace> next;
    /// The number of threads by status. In a store with few threads, these are all threads that match the filter
    /// without `status`. In other stores, these are all threads as the index has them, at most `counted_max` for each
    /// status; threads that are not "done" are also counted as "open", and threads of unknown status count as
    /// "in_flight".
    std::map<std::string, std::uint64_t> counts;
    static constexpr std::size_t counted_max = 10'000;
};

/// Parses text such as "customer=7" into an entry of metadata. The value is JSON, or the text itself if it is not JSON.
/// Errors: InvalidArgumentError for a text without a name and '='.
MetadataEntry metadataEntryOf(const std::string& text);

/// Lists threads of a store. Cost: with an index of threads, it looks at the index's entries and reads the newest
/// checkpoint of each thread that is shown, or that the filter leaves out before these. Those are among the threads of
/// the filter's status and those of unknown status, which are then updated in the index. In a store without an index,
/// or with few threads, it reads the newest checkpoint of every thread. Memory: one page.
ThreadList listThreadsOf(BaseCheckpointSaver& saver, const ThreadFilter& filter);

}  // namespace stategraph::inspect
