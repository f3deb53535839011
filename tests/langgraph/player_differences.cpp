#include "tests/langgraph/player_differences.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace player {
namespace {

namespace json = boost::json;

/// One difference, for one response.
class Change {
public:
    explicit Change(const json::object& difference) : difference_(difference) {
        const json::value* const why = difference.if_contains("why");
        if (why == nullptr || !why->is_string() || why->get_string().empty()) fail("it has no reason (why)");
        if (difference.if_contains("at") == nullptr || !difference.at("at").is_string()) fail("it names no place (at)");
        const std::string_view at = difference.at("at").get_string();
        const std::size_t last = at.rfind('/');
        if (last == std::string_view::npos) fail("its place (at) is no JSON pointer");
        around_ = at.substr(0, last);
        name_ = at.substr(last + 1);
    }

    void apply(json::value& response) const {
        boost::system::error_code error;
        json::value* const around = around_.empty() ? &response : response.find_pointer(around_, error);
        if (around == nullptr || !around->is_structured()) fail("nothing is at " + around_);
        if (around->is_array()) {
            applyTo(around->get_array());
        } else {
            applyTo(around->get_object());
        }
    }

private:
    void applyTo(json::object& members) const {
        const auto found = members.find(name_);
        if (difference_.contains("value")) {
            if (found != members.end() && found->value() == difference_.at("value")) fail("this was recorded");
            members[name_] = difference_.at("value");
        } else if (difference_.contains("remove")) {
            if (found == members.end()) fail("there is no member " + name_);
            members.erase(found);
        } else {
            fail("it has neither value nor remove");
        }
    }
    void applyTo(json::array& items) const {
        std::size_t number = 0;
        const auto read = std::from_chars(name_.data(), name_.data() + name_.size(), number);
        const bool is_insert = difference_.contains("insert");
        if (read.ec != std::errc() || number >= items.size() + (is_insert ? 1 : 0)) fail("there is no item " + name_);
        const auto place = items.begin() + static_cast<std::ptrdiff_t>(number);
        if (is_insert) {
            items.insert(place, difference_.at("insert"));
        } else if (difference_.contains("remove")) {
            items.erase(place);
        } else if (difference_.contains("value")) {
            if (*place == difference_.at("value")) fail("this was recorded");
            *place = difference_.at("value");
        } else {
            fail("it has neither value, remove nor insert");
        }
    }
    [[noreturn]] void fail(const std::string& why) const {
        throw std::runtime_error("the difference " + json::serialize(difference_) + " cannot be expected: " + why);
    }

    const json::object& difference_;
    std::string around_;  // the pointer to the object or the list
    std::string name_;    // of the member, or the number of the item
};

}  // namespace

json::object withDifferences(const json::object& scenario, const json::array& differences) {
    json::object changed = scenario;
    json::array& steps = changed.at("steps").as_array();
    for (const json::value& each : differences) {
        const json::object& difference = each.as_object();
        if (difference.contains("in") && difference.at("in") == json::value("result")) {
            Change(difference).apply(changed.at("result"));
            continue;
        }
        const json::value* const step = difference.if_contains("step");
        const auto number = step != nullptr && step->is_int64() ? step->get_int64() : 0;
        const bool exists = number >= 1 && number <= static_cast<std::int64_t>(steps.size());
        json::value* const response =
            exists ? steps[static_cast<std::size_t>(number - 1)].as_object().if_contains("response") : nullptr;
        if (response == nullptr)
            throw std::runtime_error("the difference " + json::serialize(difference) + " names no step with a reply");
        Change(difference).apply(*response);
    }
    return changed;
}

}  // namespace player
