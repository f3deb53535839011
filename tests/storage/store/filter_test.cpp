#include <stategraph/store_filter.hpp>

#include <limits>

#include <boost/json.hpp>

#include <stategraph/json.hpp>

#include "tests/checkpoint/bytes.hpp"
#include "tests/storage/store/stores.hpp"

namespace stategraph {
namespace {

using namespace under_test;

const char* const document = R"({
    "name": "Alice", "age": 40, "height": 1.5, "tags": ["a", "b"], "address": {"city": "Rome", "zip": null},
    "a.b": "dotted", "it's \"quoted\" % * --": 1, "big": 9007199254740993, "list": [1, {"x": 2}], "yes": true
})";

Value json(std::string_view text) { return parseJson(text); }
bool fits(const StoreFilter& filter) { return filter.matches(json(document)); }
bool fits(std::string_view filter) { return StoreFilter::parse(json(filter)).matches(json(document)); }
std::string refused(std::string_view filter) {
    return messageOf<InvalidArgumentError>([&] { (void)StoreFilter::parse(json(filter)); });
}

TEST_CASE("conditions in code compare a field, and all must hold") {
    CHECK(fits(StoreFilter()));
    CHECK(fits(where("name").eq("Alice")));
    CHECK(!fits(where("name").eq("alice")));
    CHECK(fits(where("name").ne("Bob")));
    CHECK(!fits(where("name").ne("Alice")));
    CHECK(fits(where("age").gt(39) && where("age").gte(40) && where("age").lte(40) && where("age").lt(40.5)));
    CHECK(!fits(where("age").gt(40)));
    CHECK(!fits(where("age").lt(40)));
    CHECK(fits(where("address.city").eq("Rome") && where("name").gt("Alicd")));
    CHECK(!fits(where("address.city").eq("Rome") && where("name").gt("Alice")));
    CHECK(fits(where({"a.b"}).eq("dotted")));
    CHECK(!fits(where("a.b").eq("dotted")));
    CHECK(fits(where("yes").eq(true)));
    CHECK(fits(where("tags").eq(std::vector<std::string>{"a", "b"})));
    CHECK(!fits(where("tags").eq(std::vector<std::string>{"a"})));
}

TEST_CASE("eq takes a map as a whole, the parsed form takes it as entries that must be there") {
    CHECK(fits(where("address").eq(json(R"({"zip": null, "city": "Rome"})"))));
    CHECK(!fits(where("address").eq(json(R"({"city": "Rome"})"))));
    CHECK(fits(R"({"address": {"city": "Rome"}})"));
    CHECK(!fits(R"({"address": {"$eq": {"city": "Rome"}}})"));
    CHECK(fits(R"({"address": {}})"));
    CHECK(!fits(R"({"name": {}})"));
    CHECK(fits(R"({"list": [1.0, {"x": {"$gt": 1, "$lt": 3}}]})"));
    CHECK(!fits(R"({"list": [1, {"x": {"$gt": 2}}]})"));
    CHECK(!fits(R"({"list": [1]})"));
    CHECK(fits(R"({})"));
    CHECK(fits(R"({"name": "Alice", "age": {"$gte": 40, "$ne": 41}, "height": {"$lt": 2}})"));
}

TEST_CASE("the order of a map's entries does not matter to equality") {
    // {"b": 1, "a": 2}, in an order that this library never writes, against {"a": 2, "b": 1.0}
    const Value value =
        Value::fromCbor(std::string("\xA1\x61m\xA2\x61"
                                    "b\x01\x61"
                                    "a\x02"));
    CHECK(where("m").eq(Doc{{"a", 2}, {"b", 1.0}}).matches(value));
    CHECK(!where("m").eq(Doc{{"a", 2}, {"b", 1.5}}).matches(value));
    CHECK(!where("m").eq(Doc{{"a", 2}, {"c", 1}}).matches(value));
}

TEST_CASE("large maps in another order are compared in proportion to their size") {
    std::string forwards;
    std::string backwards;
    for (int i = 0; i < 100'000; ++i) {
        const std::string entry = '"' + std::to_string(i) + "\":" + std::to_string(i % 7);
        forwards += (i == 0 ? "" : ",") + entry;
        backwards.insert(0, entry + (i == 0 ? "" : ","));
    }
    const auto docOf = [](const std::string& map) { return json("{\"map\":{" + map + "}}"); };
    const StoreFilter filter = where("map").eq(json("{" + backwards + "}"));
    CHECK(filter.matches(docOf(forwards)));
    forwards.replace(forwards.rfind(':') + 1, 1, "9");
    CHECK(!filter.matches(docOf(forwards)));
}

TEST_CASE("a missing field counts as null, and null has no order") {
    CHECK(fits(where("nothing").eq(Value())));
    CHECK(fits(where("address.zip").eq(Value())));
    CHECK(fits(where("name.first.letter").eq(Value())));
    CHECK(fits(where("nothing").ne(5)));
    CHECK(!fits(where("nothing").lt(5)));
    CHECK(!fits(where("nothing").gte(5)));
}

TEST_CASE("numbers compare exactly, whole and real ones with each other") {
    const auto compares = [](const Value& a, const Value& b) {
        const Value item = Doc{{"n", a}};
        const auto n = where("n");
        return std::string(n.lt(b).matches(item) ? "<" : "") + (n.eq(b).matches(item) ? "=" : "") +
               (n.gt(b).matches(item) ? ">" : "");
    };
    constexpr auto int_max = std::numeric_limits<std::int64_t>::max();
    constexpr auto int_min = std::numeric_limits<std::int64_t>::min();
    constexpr auto unsigned_max = std::numeric_limits<std::uint64_t>::max();
    const Value least = Value::fromCbor(std::string("\x3B\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 9));  // -2^64
    CHECK(compares(1, 1.0) == "=");
    CHECK(compares(1, 1.5) == "<");
    CHECK(compares(-1, -1.5) == ">");
    CHECK(compares(-2, -1.5) == "<");
    CHECK(compares(0, -0.0) == "=");
    CHECK(compares(9007199254740993, 9007199254740992.0) == ">");
    CHECK(compares(9007199254740992.0, 9007199254740993) == "<");
    CHECK(compares(int_max, 9223372036854775808.0) == "<");
    CHECK(compares(int_min, -9223372036854775808.0) == "=");
    CHECK(compares(unsigned_max, 18446744073709551616.0) == "<");
    CHECK(compares(unsigned_max, int_max) == ">");
    CHECK(compares(unsigned_max, -1) == ">");
    CHECK(compares(least, -18446744073709551616.0) == "=");
    CHECK(compares(least, int_min) == "<");
    CHECK(compares(least, -1e300) == ">");
    CHECK(compares(5, std::numeric_limits<double>::infinity()) == "<");
    CHECK(compares(5, std::numeric_limits<double>::quiet_NaN()) == "");
    CHECK(compares(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()) == "");
    CHECK(compares("10", "9") == "<");
    CHECK(compares("10", 9) == "");
    CHECK(compares(true, 1) == "");
}

TEST_CASE("names and operands are taken as they are: quotes, wildcards and queries find only themselves") {
    CHECK(fits(where({"it's \"quoted\" % * --"}).eq(1)));
    CHECK(fits(R"({"it's \"quoted\" % * --": 1})"));
    for (const char* const hostile : {"%", "*", "' OR '1'='1", "name' --", "name\"", "na%", "n*", "$", "name\\u0000"}) {
        CAPTURE(hostile);
        CHECK(!fits(where("name").eq(hostile)));
        if (hostile[0] != '$') CHECK(!fits(where({hostile}).eq("Alice")));
    }
    CHECK(fits(R"({"a.b": "dotted"})"));
    CHECK(!fits(R"({"address.city": "Rome"})"));
}

TEST_CASE("what is not in the grammar is refused, and the message says what is") {
    CHECK(has(refused(R"({"age": {"$regex": "x"}})"), "the operator '$regex'"));
    CHECK(has(refused(R"({"age": {"$GT": 1}})"), "one of $eq $ne $gt $gte $lt $lte"));
    CHECK(has(refused(R"({"age": {"$gt": 1, "$or": []}})"), "'$or'"));
    CHECK(has(refused(R"({"$or": [{"a": 1}]})"), "where the name of a field belongs"));
    CHECK(has(refused(R"({"$gt": 1})"), "where the name of a field belongs"));
    CHECK(has(refused(R"({"age": {"$gt": 1, "x": 1}})"), "operators and names of fields in one map"));
    CHECK(has(refused(R"({"age": {"$gt": null}})"), "neither a number nor a text"));
    CHECK(has(refused(R"({"age": {"$lte": [1]}})"), "neither a number nor a text"));
    CHECK(has(refused(R"({"age": {"$gt": true}})"), "neither a number nor a text"));
    CHECK(has(refused(R"({"": 1})"), "an empty name"));
    CHECK(has(refused(R"([1])"), "a filter is a map"));
    CHECK(has(messageOf<InvalidArgumentError>([] {
                  (void)StoreFilter::parse(std::map<int, int>{{1, 2}});
              }),
              "a name that is not text"));
    CHECK_THROWS_AS((void)where("a..b"), InvalidArgumentError);
    CHECK_THROWS_AS((void)where(""), InvalidArgumentError);
    CHECK_THROWS_AS((void)where("a.$gt"), InvalidArgumentError);
    CHECK_THROWS_AS((void)FilterField({}), InvalidArgumentError);
    CHECK_THROWS_AS((void)where("a").gt(Doc{}), InvalidArgumentError);
}

TEST_CASE("a filter has a limit of conditions and of depth") {
    StoreFilter many;
    for (std::size_t i = 0; i < StoreFilter::conditions_max; ++i) many = many && where("name").eq("Alice");
    CHECK(fits(many));
    CHECK_THROWS_AS((void)(many && where("name").eq("Alice")), InvalidArgumentError);
    std::string wide = "{";
    for (int i = 0; i < 300; ++i) wide += (i ? ",\"f" : "\"f") + std::to_string(i) + "\": 1";
    CHECK(has(refused(wide + "}"), "more than 256 conditions"));
    Value deep = 1;
    for (int i = 0; i < 33; ++i) deep = Doc{{"x", deep}};
    CHECK(
        has(messageOf<InvalidArgumentError>([&] { (void)StoreFilter::parse(deep); }), "nested deeper than 32 levels"));
    std::string deep_path = "x";
    for (int i = 0; i < 40; ++i) deep_path += ".x";
    CHECK_THROWS_AS((void)where(deep_path), InvalidArgumentError);
}

// Evaluates the filter once more, simply and slowly, over JSON.
namespace slow {

namespace js = boost::json;

bool equal(const js::value& a, const js::value& b) {
    if (a.is_number() && b.is_number()) return a.to_number<double>() == b.to_number<double>();
    if (a.kind() != b.kind()) return false;
    if (a.is_array()) {
        const auto &x = a.get_array(), &y = b.get_array();
        return x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), equal);
    }
    if (!a.is_object()) return a == b;
    const auto &x = a.get_object(), &y = b.get_object();
    if (x.size() != y.size()) return false;
    for (const auto& each : x) {
        const auto* other = y.if_contains(each.key());
        if (other == nullptr || !equal(each.value(), *other)) return false;
    }
    return true;
}

bool applies(std::string_view operation, const js::value& item, const js::value& operand) {
    if (operation == "$eq") return equal(item, operand);
    if (operation == "$ne") return !equal(item, operand);
    double order = 0;
    if (item.is_number() && operand.is_number()) {
        order = item.to_number<double>() - operand.to_number<double>();
    } else if (item.is_string() && operand.is_string()) {
        order = item.get_string().compare(operand.get_string());
    } else {
        return false;
    }
    if (operation == "$gt") return order > 0;
    if (operation == "$gte") return order >= 0;
    return operation == "$lt" ? order < 0 : order <= 0;
}

bool matches(const js::value& item, const js::value& pattern) {
    if (const auto* fields = pattern.if_object()) {
        const bool has_operators = !fields->empty() && fields->begin()->key().starts_with('$');
        if (!has_operators && !item.is_object()) return false;
        for (const auto& each : *fields) {
            if (has_operators) {
                if (!applies(each.key(), item, each.value())) return false;
                continue;
            }
            const auto* found = item.get_object().if_contains(each.key());
            if (!matches(found != nullptr ? *found : js::value(), each.value())) return false;
        }
        return true;
    }
    if (const auto* elements = pattern.if_array()) {
        return item.is_array() && item.get_array().size() == elements->size() &&
               std::equal(elements->begin(), elements->end(), item.get_array().begin(),
                          [](const js::value& a, const js::value& b) { return matches(b, a); });
    }
    return equal(item, pattern);
}

class Maker {
public:
    explicit Maker(bytes::Random& random) : random_(random) {}

    js::value scalar() {
        switch (random_.below(5)) {
            case 0:
                return static_cast<std::int64_t>(random_.below(3)) - 1;
            case 1:
                return static_cast<double>(random_.below(4)) / 2;
            case 2:
                return random_.chance(2) ? "a" : "b";
            case 3:
                return random_.chance(2);
            default:
                return nullptr;
        }
    }
    js::value value(int depth) {
        if (depth > 0 && random_.chance(3)) return object(depth - 1);
        if (depth > 0 && random_.chance(4)) {
            js::array made;
            for (std::size_t i = random_.below(3); i > 0; --i) made.push_back(value(depth - 1));
            return made;
        }
        return scalar();
    }
    js::object object(int depth) {
        js::object made;
        for (std::size_t i = random_.below(4); i > 0; --i) made[name()] = value(depth);
        return made;
    }
    js::value pattern(int depth) {
        if (random_.chance(3)) {
            js::object made;
            for (std::size_t i = 1 + random_.below(2); i > 0; --i) {
                static constexpr const char* operations[] = {"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"};
                const std::size_t which = random_.below(6);
                js::value operand = which < 2 ? value(1) : scalar();
                if (which >= 2 && !operand.is_number() && !operand.is_string()) operand = 1;
                made[operations[which]] = operand;
            }
            return made;
        }
        if (depth > 0 && random_.chance(3)) return filter(depth - 1);
        if (depth > 0 && random_.chance(4)) {
            js::array made;
            for (std::size_t i = random_.below(3); i > 0; --i) made.push_back(pattern(depth - 1));
            return made;
        }
        return scalar();
    }
    js::object filter(int depth) {
        js::object made;
        for (std::size_t i = random_.below(3); i > 0; --i) made[name()] = pattern(depth);
        return made;
    }

private:
    std::string name() { return std::string(1, static_cast<char>('x' + random_.below(3))); }
    bytes::Random& random_;
};

}  // namespace slow

TEST_CASE("any filter lets through what a slow reading of it does") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    slow::Maker maker(random);
    std::size_t passed = 0;
    for (int i = 0; i < 4000; ++i) {
        const boost::json::value item = maker.object(3);
        const boost::json::value filter = maker.filter(3);
        const bool expected = slow::matches(item, filter);
        if (StoreFilter::parse(Value(filter)).matches(Value(item)) != expected) {
            CAPTURE(boost::json::serialize(filter));
            CAPTURE(boost::json::serialize(item));
            FAIL_CHECK((expected ? "should match" : "should not match"));
        }
        passed += expected ? 1 : 0;
    }
    CHECK(passed > 400);
    CHECK(passed < 3600);
}

TEST_CASE("a search returns what its filter lets through, paged after filtering") {
    onEach([](Home& home) {
        for (int i = 0; i < 20; ++i)
            home.store().put({"n"}, std::to_string(100 + i), Doc{{"i", i}, {"even", i % 2 == 0}});
        const auto found = home.store().search({.namespace_prefix = {"n"},
                                                .filter = where("even").eq(true) && where("i").gte(6),
                                                .limit = 3,
                                                .offset = 1});
        CHECK(namesOf(found) == std::vector<std::string>{"n/108", "n/110", "n/112"});
        CHECK(home.store().search({.filter = StoreFilter::parse(json(R"({"i": {"$gt": 19}})"))}).empty());
    });
}

}  // namespace
}  // namespace stategraph
