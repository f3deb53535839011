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
};

struct ThreadList {
    /// The newest first: by when they were last written to, or began the run that they are in.
    std::vector<ThreadView> threads;
    /// Where the next page begins; none: there is no more.
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

/// Threads of a store. Cost: with an index of threads, a look at its entries and a read of the newest checkpoint of
/// each thread that is looked at: those shown, and those that the filter leaves out before them, among the threads of
/// the status that it names and those with unknown status, which are then updated in the index. Of a store without one,
/// or with few threads, a read of the newest checkpoint of every thread. Memory for one page.
ThreadList listThreadsOf(BaseCheckpointSaver& saver, const ThreadFilter& filter);

}  // namespace stategraph::inspect
