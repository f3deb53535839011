#pragma once
#include <stategraph/detail/staged_encoder.hpp>
#include <stategraph/detail/table.hpp>
#include <stategraph/model/usage.hpp>

namespace stategraph::model {

static_assert(stategraph::detail::TableLayout<Usage>::count == 5);

/// Writes the members that the table of Usage has, without the head of a map.
inline void writeTokens(stategraph::detail::StagedEncoder& out, const Usage& usage) {
    out.key("input_tokens");
    out.integer(usage.input_tokens);
    out.key("cached_tokens");
    out.integer(usage.cached_tokens);
    out.key("output_tokens");
    out.integer(usage.output_tokens);
    out.key("reasoning_tokens");
    out.integer(usage.reasoning_tokens);
    out.key("cache_write_tokens");
    out.integer(usage.cache_write_tokens);
}

/// Writes the bytes that the table of Usage gives.
inline void writeUsage(stategraph::detail::StagedEncoder& out, const Usage& usage) {
    out.map(5);
    writeTokens(out, usage);
}

}  // namespace stategraph::model
