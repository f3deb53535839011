// NOT WITH: sanitize=thread
#include "src/checkpoint/materialise.hpp"

#include <map>

#include <doctest/doctest.h>
#include <stategraph/codec_std.hpp>
#include <stategraph/error.hpp>
#include <stategraph/value.hpp>

#include "tests/checkpoint/bytes.hpp"

// Values of channels whose type is not known, from the operations that make them up.
namespace sg = stategraph;
using sg::Value;
using sg::checkpoint::LogOp;

namespace {

using Strings = std::vector<std::string>;
using Piece = std::pair<LogOp, Value>;

std::string made(const std::vector<Piece>& pieces) {
    std::vector<sg::checkpoint::LogPiece> views;
    for (const auto& [op, value] : pieces) views.push_back({op, value.bytes()});
    return sg::checkpoint::materialise(views);
}
std::string json(const std::vector<Piece>& pieces) { return sg::cborToJson(made(pieces)); }

/// Returns an edit: "index=text" replaces (or appends at the end), and "index" erases.
Value edit(const Strings& changes) {
    std::string cbor;
    sg::Encoder out(cbor);
    out.array(changes.size());
    for (const auto& change : changes) {
        const auto cut = change.find('=');
        out.array(cut == std::string::npos ? 1 : 2);
        out.unsignedInteger(std::stoull(change));
        if (cut != std::string::npos) out.text(change.substr(cut + 1));
    }
    return Value::fromCbor(cbor);
}

}  // namespace

TEST_CASE("a set alone is its value, whatever that is") {
    for (const Value& value :
         {Value(), Value(1), Value("text"), Value(Strings{"a"}), Value(std::map<std::string, int>{{"k", 1}})}) {
        CHECK(made({{LogOp::set, value}}) == value.bytes());
    }
}

TEST_CASE("nothing at all is null") { CHECK(json({}) == "null"); }

TEST_CASE("appended items follow each other, on a set or from nothing") {
    CHECK(json({{LogOp::append, Strings{"a"}}, {LogOp::append, Strings{}}, {LogOp::append, Strings{"b", "c"}}}) ==
          R"(["a","b","c"])");
    CHECK(json({{LogOp::set, Strings{"x"}}, {LogOp::append, Strings{"a"}}}) == R"(["x","a"])");
    CHECK(json({{LogOp::append, Strings{}}}) == "[]");
}

TEST_CASE("edits replace, append at the end and erase, each on what the one before left") {
    const Piece abc{LogOp::set, Strings{"a", "b", "c"}};
    CHECK(json({abc, {LogOp::edit, edit({"1=B"})}}) == R"(["a","B","c"])");
    CHECK(json({abc, {LogOp::edit, edit({"3=d", "4=e"})}}) == R"(["a","b","c","d","e"])");
    CHECK(json({abc, {LogOp::edit, edit({"0", "0", "0"})}}) == "[]");
    CHECK(json({abc, {LogOp::edit, edit({"0", "2=x"})}, {LogOp::append, Strings{"y"}}}) == R"(["b","c","x","y"])");
    CHECK(json({{LogOp::edit, edit({"0=a"})}}) == R"(["a"])");
}

TEST_CASE("entries put replace those of their key, and come out in encoded order") {
    using Entries = std::map<std::string, int>;
    CHECK(json({{LogOp::put, Entries{{"b", 1}, {"longer", 2}}}, {LogOp::put, Entries{{"a", 3}, {"b", 4}}}}) ==
          R"({"a":3,"b":4,"longer":2})");
    CHECK(made({{LogOp::set, Entries{{"b", 1}}}, {LogOp::put, Entries{{"a", 2}}}}) ==
          Value(Entries{{"a", 2}, {"b", 1}}).bytes());
}

TEST_CASE("operations that do not fit each other are an error") {
    const std::vector<std::vector<Piece>> hostile = {
        {{LogOp::set, 1}, {LogOp::append, Strings{"a"}}},
        {{LogOp::set, "text"}, {LogOp::put, std::map<std::string, int>{}}},
        {{LogOp::append, Strings{"a"}}, {LogOp::put, std::map<std::string, int>{{"k", 1}}}},
        {{LogOp::put, std::map<std::string, int>{{"k", 1}}}, {LogOp::append, Strings{"a"}}},
        {{LogOp::append, 1}},
        {{LogOp::put, Strings{"a"}}},
        {{LogOp::edit, 1}},
        {{LogOp::edit, Strings{"a"}}},
        {{LogOp::edit, std::vector<Strings>{{}}}},
        {{LogOp::edit, std::vector<std::vector<int>>{{0, 1, 2}}}},
        {{LogOp::edit, std::vector<std::vector<int>>{{-1, 1}}}},
        {{LogOp::edit, edit({"1=too far"})}},
        {{LogOp::edit, edit({"0"})}},
        {{LogOp::set, Strings{"a"}}, {LogOp::edit, edit({"1"})}},
        {{LogOp::set, Strings{"a"}}, {LogOp::edit, edit({"18446744073709551615=x"})}},
        {{LogOp::append, Strings{"a"}}, {LogOp::clear, Value()}},
    };
    for (std::size_t i = 0; i < hostile.size(); ++i) {
        CAPTURE(i);
        CHECK_THROWS_AS(made(hostile[i]), sg::WrongTypeError);
    }
}

TEST_CASE("any operations at all give one item or an error") {
    const std::uint64_t seed = tests::seed();
    CAPTURE(seed);
    bytes::Random random(seed);
    for (int n = 0; n < 3000; ++n) {
        std::vector<Piece> pieces;
        for (std::size_t count = random.below(5); count > 0; --count) {
            pieces.emplace_back(static_cast<LogOp>("=+|~-"[random.below(5)]), Value::fromCbor(random.item()));
        }
        std::string cbor;
        try {
            cbor = made(pieces);
        } catch (const sg::WrongTypeError&) {
            continue;
        }
        CHECK_NOTHROW(Value::fromCbor(cbor));
    }
}
