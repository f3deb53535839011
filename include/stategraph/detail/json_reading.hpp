#pragma once
#include <cstddef>
#include <string_view>

#include <boost/json/value.hpp>

namespace stategraph::detail {

struct JsonRead {
    boost::json::value value = {};
    boost::json::error_code error = {};
    std::size_t at = 0;  // bytes of the text that were read; with an error, where it is
};

/// Reads a JSON text; whatever comes from outside is read here. Numbers that are no integers of 64 bits are the doubles
/// nearest to their digits, and infinities where they are larger than all doubles; boost::json::parse() is one unit off
/// for a third of the doubles. `memory` is for the values. Safe from any thread. Cost: one pass.
JsonRead readJson(std::string_view text, std::size_t depth_max = 32, boost::json::storage_ptr memory = {});

}  // namespace stategraph::detail
