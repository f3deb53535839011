#include "json/schema/check.hpp"

#include <algorithm>
#include <string>

#include <stategraph/error.hpp>

#include "json/schema/assertions.hpp"
#include "json/schema/keywords.hpp"

namespace stategraph::schema {

namespace json = boost::json;

namespace {

constexpr std::size_t apply_depth_max = 1500;
constexpr std::size_t alternatives_shown_max = 4;
constexpr std::uint64_t work_of_known = 20;  // it takes memory too

bool goesOn(const Report* report) { return report != nullptr && !report->isBrief(); }

/// Asks for each element until one fails, or for all if a report wants all faults.
template <class Elements, class Ask>
bool forAll(const Elements& elements, const Report* report, Ask ask) {
    bool all = true;
    for (const auto& each : elements) {
        if (ask(each)) continue;
        all = false;
        if (!goesOn(report)) break;
    }
    return all;
}

}  // namespace

/// While it exists, a schema is applied to a value.
class Check::Level {
public:
    explicit Level(Check& check) : check_(check) {
        if (check.depth_ == apply_depth_max) {
            throw InvalidArgumentError("the schema's references lead more than " + std::to_string(apply_depth_max) +
                                       " levels deep for this value");
        }
        ++check.depth_;
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --check_.depth_; }

private:
    Check& check_;
};

bool Check::fits(std::size_t number, const json::value& value, const Place& place, Report* report) {
    const Node& node = schema_.nodes[number];
    if (node.rules.empty()) return true;
    if (!node.is_shared) return apply(node, value, place, report);
    const auto [at, is_new] = known_.try_emplace({number, &value}, Known::fails);
    Known& known = at->second;  // which stays where it is
    if (is_new) {
        work_.take(work_of_known);
        if (apply(node, value, place, report)) {
            known = Known::fits;
        } else if (goesOn(report)) {
            known = Known::told;
        }
    } else if (known == Known::fails && report != nullptr) {
        if (goesOn(report)) known = Known::told;
        (void)apply(node, value, place, report);
    }
    return known == Known::fits;
}

bool Check::apply(const Node& node, const json::value& value, const Place& place, Report* report) {
    const Level level(*this);
    work_.take(1 + node.rules.size());
    return forAll(node.rules, report, [&](const Rule& rule) { return holds(node, rule, value, place, report); });
}

bool Check::holds(const Node& node, const Rule& rule, const json::value& value, const Place& place, Report* report) {
    const json::object* const object = value.if_object();
    const json::array* const list = value.if_array();
    if (rule.only_with && (object == nullptr || !object->contains(*rule.only_with))) return true;
    switch (rule.word) {
        case Word::all_of:
            return holdForAll(rule, value, place, report);
        case Word::any_of:
        case Word::one_of:
            return holdsForSome(rule, value, place, report);
        case Word::none_of: {
            const bool is_kept = !fits(rule.children.front().schema, value, place, nullptr);
            if (!is_kept && report != nullptr) report->add(place, "it fits the schema of 'not', and must not");
            return is_kept;
        }
        case Word::conditional:
            return holdsConditional(rule, value, place, report);
        case Word::properties:
        case Word::pattern_properties:
        case Word::additional_properties:
            return object == nullptr || holdForMembers(node, rule, *object, place, report);
        case Word::property_names:
            return object == nullptr || holdsForNames(rule, *object, place, report);
        case Word::prefix_items:
        case Word::items:
            return list == nullptr || holdForItems(rule, *list, place, report);
        case Word::contains:
            return list == nullptr || holdsContained(rule, *list, place, report);
        default: {
            const bool is_kept = isKept(rule, value, work_);
            if (!is_kept && report != nullptr) report->add(place, complaintOf(rule, value, work_));
            return is_kept;
        }
    }
}

bool Check::holdForAll(const Rule& rule, const json::value& value, const Place& place, Report* report) {
    return forAll(rule.children, report, [&](const Child& child) { return fits(child.schema, value, place, report); });
}

// Handles anyOf and oneOf.
bool Check::holdsForSome(const Rule& rule, const json::value& value, const Place& place, Report* report) {
    std::size_t count = 0;
    for (const Child& child : rule.children) {
        if (!fits(child.schema, value, place, nullptr)) continue;
        if (rule.word == Word::any_of) return true;
        if (++count == 2) break;
    }
    if (count == 1) return true;
    if (report == nullptr) return false;
    if (count == 2) {
        report->add(place, "it fits more than one schema of 'oneOf', and must fit exactly one");
        return false;
    }
    std::string fault = "it fits none of the " + std::to_string(rule.children.size()) + " schemas of '" +
                        (rule.word == Word::any_of ? "anyOf'" : "oneOf'");
    for (std::size_t i = 0; goesOn(report) && i < std::min(rule.children.size(), alternatives_shown_max); ++i) {
        Report why(true);
        (void)fits(rule.children[i].schema, value, place, &why);
        fault += (i == 0 ? " (" : " | ") + why.text();
    }
    report->add(place, goesOn(report) ? fault + ")" : fault);
    return false;
}

bool Check::holdsConditional(const Rule& rule, const json::value& value, const Place& place, Report* report) {
    const bool is_met = fits(rule.children[0].schema, value, place, nullptr);
    const std::size_t branch = rule.children[is_met ? 1 : 2].schema;
    return branch == no_schema || fits(branch, value, place, report);
}

bool Check::matches(const Child& child, std::string_view name) {
    work_.take(1 + name.size() * child.pattern->work());
    return child.pattern->isIn(name);
}

// Whether `properties` or `patternProperties` have a schema for a member.
bool Check::isListed(const Node& node, std::string_view name) {
    const Rule* const named = node.find(Word::properties);
    if (named != nullptr && std::ranges::binary_search(named->children, name, {}, &Child::name)) return true;
    const Rule* const matched = node.find(Word::pattern_properties);
    return matched != nullptr &&
           std::ranges::any_of(matched->children, [&](const Child& child) { return matches(child, name); });
}

bool Check::holdForMembers(const Node& node, const Rule& rule, const json::object& object, const Place& place,
                           Report* report) {
    return forAll(object, report, [&](const json::key_value_pair& member) {
        const std::string_view name(member.key().data(), member.key().size());
        const Place inside{.around = &place, .name = name};
        work_.take(1);
        if (rule.word == Word::properties) {
            const auto child = std::ranges::lower_bound(rule.children, name, {}, &Child::name);
            return child == rule.children.end() || child->name != name ||
                   fits(child->schema, member.value(), inside, report);
        }
        if (rule.word == Word::pattern_properties) {
            return forAll(rule.children, report, [&](const Child& child) {
                return !matches(child, name) || fits(child.schema, member.value(), inside, report);
            });
        }
        if (isListed(node, name)) return true;
        const std::size_t child = rule.children.front().schema;
        const Node& others = schema_.nodes[child];
        if (others.rules.size() == 1 && others.rules.front().word == Word::never) {
            if (report != nullptr) report->add(inside, "member '" + shownText(name) + "' is unknown");
            return false;
        }
        return fits(child, member.value(), inside, report);
    });
}

const std::vector<json::value>& Check::namesOf(const json::object& object) {
    const auto [at, is_new] = names_.try_emplace(&object);
    if (is_new) {
        work_.take(object.size());
        for (const auto& member : object) at->second.emplace_back(json::string(member.key()));
    }
    return at->second;
}

bool Check::holdsForNames(const Rule& rule, const json::object& object, const Place& place, Report* report) {
    return forAll(namesOf(object), report, [&](const json::value& name) {
        Report why(true);
        if (fits(rule.children.front().schema, name, {}, report != nullptr ? &why : nullptr)) return true;
        if (report != nullptr) {
            const std::string reason = why.text();  // begins with the place, which is the name alone
            report->add(place, "the name of its member " + shown(name) +
                                   " is refused: " + reason.substr(std::min<std::size_t>(reason.size(), 3)));
        }
        return false;
    });
}

bool Check::holdForItems(const Rule& rule, const json::array& list, const Place& place, Report* report) {
    const bool is_prefix = rule.word == Word::prefix_items;
    const std::size_t begin = is_prefix ? 0 : static_cast<std::size_t>(rule.number);
    const std::size_t end = is_prefix ? std::min(list.size(), rule.children.size()) : list.size();
    bool all = true;
    for (std::size_t i = begin; i < end && (all || goesOn(report)); ++i) {
        work_.take(1);
        const Child& child = rule.children[is_prefix ? i : 0];
        all = fits(child.schema, list[i], {.around = &place, .index = i}, report) && all;
    }
    return all;
}

bool Check::holdsContained(const Rule& rule, const json::array& list, const Place& place, Report* report) {
    std::uint64_t count = 0;
    for (const json::value& each : list) {
        work_.take(1);
        if (fits(rule.children.front().schema, each, place, nullptr)) ++count;
    }
    const bool is_kept = count >= rule.number && count <= rule.most;
    if (!is_kept && report != nullptr) {
        report->add(place, std::to_string(count) + " of its items fit the schema of 'contains', and there must be at " +
                               (count < rule.number ? "least " + std::to_string(rule.number)
                                                    : "most " + std::to_string(rule.most)));
    }
    return is_kept;
}

}  // namespace stategraph::schema
