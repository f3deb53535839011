#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

/// What an index of threads stores of a thread's newest checkpoint besides its status (PutRequest::summary), so that a
/// search by metadata or by the text of questions reads only the threads that it finds. Its size is limited: what does
/// not fit is left out, and the checkpoint has to be read for it.
struct ThreadSummary {
    /// Entries of the metadata, as many as fit into `metadata_bytes_max` bytes.
    Metadata metadata = {};
    bool has_all_metadata = true;
    /// The values of the open questions, as many as fit into `questions_bytes_max` bytes.
    std::vector<Value> questions = {};
    bool has_all_questions = true;

    static constexpr std::size_t metadata_bytes_max = 512;
    static constexpr std::size_t questions_bytes_max = 1024;

    /// Whether the metadata has all entries of the filter, with equal values; none: the checkpoint has to be read.
    std::optional<bool> hasMetadata(const Metadata& filter) const;
};

/// Reads PutRequest::summary; none if there is none, or if the bytes are not one of this version.
std::optional<ThreadSummary> readThreadSummary(std::string_view bytes);

}  // namespace stategraph
