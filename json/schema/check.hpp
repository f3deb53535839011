#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

#include "json/schema/report.hpp"
#include "json/schema/rules.hpp"
#include "json/schema/work.hpp"

namespace stategraph::schema {

/// One check of a value. What a schema that several ways lead to says of a value is kept, so that each is asked once:
/// time is linear in the schema and in the value, though `$ref` and `anyOf` have exponentially many ways. What comes
/// beyond the limits of Work, or is deeper than any ordinary value, ends with InvalidArgumentError.
class Check {
public:
    /// The value that is checked stays unchanged until the end.
    Check(const Schema& schema, Work& work) : schema_(schema), work_(work) {}

    /// Whether a value fits a schema. Without a report, or with a brief one, it ends at the first fault.
    bool fits(std::size_t number, const boost::json::value& value, const Place& place, Report* report);

private:
    enum class Known : std::uint8_t { fits, fails, told };  // told: and the report says why
    using Asked = std::pair<std::size_t, const boost::json::value*>;
    struct AskedHash {
        std::size_t operator()(const Asked& asked) const noexcept {
            return std::hash<const void*>{}(asked.second) * 31 + asked.first;
        }
    };
    class Level;

    bool apply(const Node& node, const boost::json::value& value, const Place& place, Report* report);
    bool holds(const Node& node, const Rule& rule, const boost::json::value& value, const Place& place, Report* report);
    bool holdForAll(const Rule& rule, const boost::json::value& value, const Place& place, Report* report);
    bool holdsForSome(const Rule& rule, const boost::json::value& value, const Place& place, Report* report);
    bool holdsConditional(const Rule& rule, const boost::json::value& value, const Place& place, Report* report);
    bool holdForMembers(const Node& node, const Rule& rule, const boost::json::object& object, const Place& place,
                        Report* report);
    bool holdsForNames(const Rule& rule, const boost::json::object& object, const Place& place, Report* report);
    bool holdForItems(const Rule& rule, const boost::json::array& list, const Place& place, Report* report);
    bool holdsContained(const Rule& rule, const boost::json::array& list, const Place& place, Report* report);
    bool isListed(const Node& node, std::string_view name);
    bool matches(const Child& child, std::string_view name);
    const std::vector<boost::json::value>& namesOf(const boost::json::object& object);

    const Schema& schema_;
    Work& work_;
    std::size_t depth_ = 0;
    std::unordered_map<Asked, Known, AskedHash> known_;
    std::unordered_map<const boost::json::object*, std::vector<boost::json::value>> names_;
};

}  // namespace stategraph::schema
