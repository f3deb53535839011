#pragma once
#include <span>
#include <string>
#include <string_view>

#include <stategraph/thread_summary.hpp>

// What a writer reports to an index of threads about a thread's newest checkpoint (PutRequest::summary):
//
//   summary  := a CBOR array of up to three parts, without the last ones that are empty or 0
//   1        {key: value}: entries of the metadata
//   2        [value…]: the open questions
//   3        uint: 1 if entries of the metadata are missing, 2 if questions are, 3 if both are
namespace stategraph::checkpoint {

/// The summary of a thread without metadata and without questions.
inline constexpr std::string_view plain_summary = "\x80";

/// `metadata`: a CBOR map, or empty; `questions`: the CBOR of each. Cost: that of copying what fits.
std::string writeSummary(std::string_view metadata, std::span<const std::string_view> questions);

}  // namespace stategraph::checkpoint
