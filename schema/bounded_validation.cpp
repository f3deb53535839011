#include "schema/bounded_validation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>

namespace stategraph::schema {
namespace {

namespace json = boost::json;

constexpr std::uint64_t work_max = 50'000'000;
constexpr std::uint64_t work_of_value_max = 20'000;
constexpr std::uint64_t work_of_schema = 200;
constexpr std::uint64_t work_of_comparison = 10;
constexpr std::uint64_t work_of_character = 2;
constexpr int depth_max = 1000;

thread_local Work* current_work = nullptr;

std::uint64_t valuesIn(const json::value& value) {
    std::uint64_t sum = 1;
    if (const json::array* const list = value.if_array()) {
        for (const json::value& each : *list) sum += valuesIn(each);
    } else if (const json::object* const object = value.if_object()) {
        for (const auto& member : *object) sum += valuesIn(member.value());
    }
    return sum;
}

// Walks through a text for a regular expression, and takes work for each character that is looked at.
class Walk {
public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    Walk() = default;
    Walk(const char* at, Work& work) : at_(at), work_(&work) {}

    reference operator*() const {
        work_->take(work_of_character);
        return *at_;
    }
    Walk& operator++() {
        ++at_;
        return *this;
    }
    Walk operator++(int) {
        const Walk before = *this;
        ++at_;
        return before;
    }
    Walk& operator--() {
        --at_;
        return *this;
    }
    Walk operator--(int) {
        const Walk before = *this;
        --at_;
        return before;
    }
    friend bool operator==(const Walk& a, const Walk& b) { return a.at_ == b.at_; }

private:
    const char* at_ = nullptr;
    Work* work_ = nullptr;
};

// Equal values have equal hashes.
std::size_t hashOf(const Adapter& value) {
    constexpr std::size_t factor = 1'099'511'628'211U;
    if (value.isNumber()) return std::hash<double>{}(value.getNumber());
    if (value.isString()) return std::hash<std::string>{}(value.getString());
    if (value.isBool()) return value.getBool() ? 1 : 2;
    std::size_t hash = 3;
    if (value.isArray()) {
        for (const Adapter each : value.getArray()) hash = hash * factor + hashOf(each);
    } else if (value.isObject()) {
        for (const Adapter::ObjectMember member : value.getObject())
            hash += std::hash<std::string>{}(member.first) * factor ^ hashOf(member.second);
    }
    return hash;
}

bool areEqual(const Adapter& a, const Adapter& b) {
    // The validator compares numbers as doubles, to which neighbouring large integers are equal.
    if (a.isInteger() && b.isInteger()) return a.getInteger() == b.getInteger();
    return a.equalTo(b, true);
}

}  // namespace

Work::Work(const json::value& value) : left_(work_max + work_of_value_max * valuesIn(value)) { current_work = this; }
Work::~Work() { current_work = nullptr; }
Work& Work::current() { return *current_work; }

void Work::refuse() {
    throw InvalidArgumentError(
        "the check by the schema takes too long for this value; simplify the schema's patterns and references, or "
        "shorten the value");
}

Work::Level::Level(Work& work) : work_(work) {
    work.take(work_of_schema);
    if (work.depth_ == depth_max) {
        throw InvalidArgumentError("the schema's references lead more than " + std::to_string(depth_max) +
                                   " levels deep for this value");
    }
    ++work.depth_;
}

bool matches(const std::string& text, const std::regex& pattern) {
    Work& work = Work::current();
    return std::regex_search(Walk(text.data(), work), Walk(text.data() + text.size(), work), pattern);
}

bool isMultiple(double number, double divisor) {
    const double times = number / divisor;
    // What lies in between is as small as the error of the division.
    return !std::isfinite(times) ||
           std::abs(times - std::round(times)) <= std::abs(times) * 4 * std::numeric_limits<double>::epsilon();
}

std::vector<std::pair<std::size_t, std::size_t>> equalPairs(const std::vector<Adapter>& items) {
    Work& work = Work::current();
    std::vector<std::pair<std::size_t, std::size_t>> order;
    for (std::size_t i = 0; i < items.size(); ++i) order.emplace_back(hashOf(items[i]), i);
    std::ranges::sort(order);
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
    for (std::size_t i = 0; i < order.size(); ++i) {
        for (std::size_t k = i + 1; k < order.size() && order[k].first == order[i].first; ++k) {
            work.take(work_of_comparison);
            if (!areEqual(items[order[i].second], items[order[k].second])) continue;
            pairs.emplace_back(order[i].second, order[k].second);
            break;  // the next one is compared with those after it
        }
    }
    std::ranges::sort(pairs);
    return pairs;
}

}  // namespace stategraph::schema

namespace valijson {
using stategraph::schema::Adapter;
using stategraph::schema::NameAdapter;
using stategraph::schema::Work;

namespace {

const std::regex& compiled(const std::string& pattern, stategraph::schema::Patterns& patterns) {
    const auto found = patterns.find(pattern);
    if (found == patterns.end())
        throw stategraph::InvalidArgumentError("the pattern '" + pattern + "' was not found in the schema");
    return found->second;
}

template <class Constraint>
std::string patternOf(const Constraint& constraint) {
    return constraint.template getPattern<std::string::allocator_type>();
}

}  // namespace

template <>
bool ValidationVisitor<Adapter>::validateSchema(const Subschema& subschema) {
    const Work::Level level(Work::current());
    if (subschema.getAlwaysInvalid()) return false;
    Subschema::ApplyFunction apply = [this](const constraints::Constraint& each) { return each.accept(*this); };
    return m_results == nullptr ? subschema.applyStrict(apply) : subschema.apply(apply);
}

template <>
bool ValidationVisitor<NameAdapter>::validateSchema(const Subschema& subschema) {
    const Work::Level level(Work::current());
    if (subschema.getAlwaysInvalid()) return false;
    Subschema::ApplyFunction apply = [this](const constraints::Constraint& each) { return each.accept(*this); };
    return m_results == nullptr ? subschema.applyStrict(apply) : subschema.apply(apply);
}

template <>
bool ValidationVisitor<Adapter>::visit(const PatternConstraint& constraint) {
    if (!m_target.isString()) return true;
    if (stategraph::schema::matches(m_target.asString(), compiled(patternOf(constraint), m_regexesCache))) return true;
    if (m_results != nullptr)
        m_results->pushError(m_context, "Failed to match regex specified by 'pattern' constraint.");
    return false;
}

template <>
bool ValidationVisitor<NameAdapter>::visit(const PatternConstraint& constraint) {
    if (stategraph::schema::matches(m_target.asString(), compiled(patternOf(constraint), m_regexesCache))) return true;
    if (m_results != nullptr)
        m_results->pushError(m_context, "Failed to match regex specified by 'pattern' constraint.");
    return false;
}

template <>
bool ValidationVisitor<Adapter>::visit(const MultipleOfIntConstraint& constraint) {
    const std::int64_t divisor = constraint.getDivisor();  // positive, or the schema would have been refused
    if (!m_target.isNumber()) return true;
    const bool is_multiple = m_target.isInteger()
                                 ? m_target.getInteger() % divisor == 0
                                 : stategraph::schema::isMultiple(m_target.getNumber(), static_cast<double>(divisor));
    if (!is_multiple && m_results != nullptr)
        m_results->pushError(m_context, "Value should be a multiple of " + std::to_string(divisor));
    return is_multiple;
}

template <>
bool ValidationVisitor<Adapter>::visit(const MultipleOfDoubleConstraint& constraint) {
    if (!m_target.isNumber()) return true;
    const bool is_multiple = stategraph::schema::isMultiple(m_target.getNumber(), constraint.getDivisor());
    if (!is_multiple && m_results != nullptr)
        m_results->pushError(m_context, "Value should be a multiple of " + std::to_string(constraint.getDivisor()));
    return is_multiple;
}

template <>
bool ValidationVisitor<Adapter>::visit(const UniqueItemsConstraint&) {
    if (!m_target.isArray()) return true;
    std::vector<Adapter> items;
    for (const Adapter each : m_target.getArray()) items.push_back(each);
    const auto pairs = stategraph::schema::equalPairs(items);
    if (m_results == nullptr) return pairs.empty();
    for (const auto& [first, second] : pairs) {
        m_results->pushError(m_context, "Elements at indexes #" + std::to_string(first) + " and #" +
                                            std::to_string(second) + " violate uniqueness constraint.");
    }
    return pairs.empty();
}

template <>
template <>
bool ValidationVisitor<Adapter>::ValidatePatternPropertySubschemas::operator()(const PatternText& pattern,
                                                                               const Subschema* subschema) const {
    const std::string text(pattern.data(), pattern.size());
    const std::regex& regex = compiled(text, m_regexesCache);
    for (const Adapter::ObjectMember member : m_object) {
        if (!stategraph::schema::matches(member.first, regex)) continue;
        if (m_propertiesMatched != nullptr) m_propertiesMatched->insert(member.first);
        std::vector<std::string> context = m_context;
        context.push_back("[" + member.first + "]");
        ValidationVisitor visitor(member.second, std::move(context), m_strictTypes, m_results, m_regexesCache);
        if (visitor.validateSchema(*subschema)) continue;
        if (m_results != nullptr) {
            m_results->pushError(m_context,
                                 "Failed to validate against schema associated with pattern '" + text + "'.");
        }
        if (m_validated != nullptr) *m_validated = false;
        if (!m_continueOnFailure) return false;
    }
    return m_continueOnSuccess;
}

}  // namespace valijson
