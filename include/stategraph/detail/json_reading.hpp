#pragma once
#include <cstddef>
#include <string_view>

#include <boost/json/value.hpp>

namespace stategraph::detail {

struct JsonRead {
    boost::json::value value = {};
    boost::json::error_code error = {};
    std::size_t at = 0;       // bytes of the text that were read; with an error, where it is
    std::size_t members = 0;  // of all objects in the text

    /// Whether an object of the text has a member twice. The value has the last of equal ones. Cost: a walk.
    bool hasRepeatedMember() const;
};

/// Reads a JSON text; whatever comes from outside is read here. Numbers that are no integers of 64 bits are the doubles
/// nearest to their digits, and infinities where they are larger than all doubles; boost::json::parse() is one unit off
/// for a third of the doubles. An escaped half of a surrogate pair is U+FFFD. `memory` is for the values. Safe from any
/// thread. Cost: one pass, and two more for a text with such a half or a fault.
JsonRead readJson(std::string_view text, std::size_t depth_max = 32, boost::json::storage_ptr memory = {});

/// Reads a JSON text in which members occur twice, and keeps all of them: a list is an array of `false` and its items,
/// an object an array of `true` and the name and value of each member, in the order of the text.
JsonRead readAllMembers(std::string_view text, std::size_t depth_max, boost::json::storage_ptr memory);

}  // namespace stategraph::detail
