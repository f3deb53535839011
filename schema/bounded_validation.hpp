#pragma once
#include <cstdint>
#include <iterator>
#include <regex>
#include <string>
#include <unordered_map>

#include <boost/json/value.hpp>

// A program that uses valijson itself, perhaps in another version, has other classes with these names.
#define valijson stategraph_valijson
// Without this, the library ends the process if it meets a schema that it cannot read.
#define VALIJSON_USE_EXCEPTIONS 1
#include <valijson/adapters/boost_json_adapter.hpp>
#include <valijson/adapters/std_string_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validation_visitor.hpp>

// Validation whose time and stack are limited, whatever schema and value are. The validator itself has no limits, and
// no place for any, so some functions of its visitor are replaced for the types of values that are checked here.
namespace stategraph::schema {

using Adapter = valijson::adapters::BoostJsonAdapter;
using NameAdapter = valijson::adapters::StdStringAdapter;
/// The compiled form of each pattern of a schema.
using Patterns = std::unordered_map<std::string, std::regex>;

/// What one check may still do. It belongs to the thread from its construction to its destruction; checks are not
/// nested. Its functions throw InvalidArgumentError when there is nothing left.
class Work {
public:
    /// The limit grows with the number of values, because ordinary checks take time in proportion to it.
    explicit Work(const boost::json::value& value);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    /// The work of this thread's check.
    static Work& current();
    /// Takes a part of what is left.
    void take(std::uint64_t amount) {
        if (amount > left_) refuse();
        left_ -= amount;
    }
    /// While it exists, a schema is applied to a value.
    class Level {
    public:
        explicit Level(Work& work);
        ~Level() { --work_.depth_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

    private:
        Work& work_;
    };

private:
    [[noreturn]] static void refuse();

    std::uint64_t left_;
    int depth_ = 0;
};

}  // namespace stategraph::schema

// The replaced functions of the visitor. What they report is as before.
namespace valijson {

template <>
bool ValidationVisitor<stategraph::schema::Adapter>::validateSchema(const Subschema& subschema);
template <>
bool ValidationVisitor<stategraph::schema::NameAdapter>::validateSchema(const Subschema& subschema);
template <>
bool ValidationVisitor<stategraph::schema::Adapter>::visit(const PatternConstraint& constraint);
template <>
bool ValidationVisitor<stategraph::schema::NameAdapter>::visit(const PatternConstraint& constraint);
template <>
bool ValidationVisitor<stategraph::schema::Adapter>::visit(const MultipleOfIntConstraint& constraint);
template <>
bool ValidationVisitor<stategraph::schema::Adapter>::visit(const MultipleOfDoubleConstraint& constraint);
template <>
bool ValidationVisitor<stategraph::schema::Adapter>::visit(const UniqueItemsConstraint& constraint);
using PatternText = std::basic_string<char, std::char_traits<char>, internal::CustomAllocator<char>>;
template <>
template <>
bool ValidationVisitor<stategraph::schema::Adapter>::ValidatePatternPropertySubschemas::operator()(
    const PatternText& pattern, const Subschema* subschema) const;

}  // namespace valijson
