#include "src/superstep/apply.hpp"

#include <cstdint>
#include <limits>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/error.hpp>

#include "tests/support/kinds.hpp"

// Applies the writes of a superstep to channels of every kind.
using namespace kinds;

namespace {

std::string refusal(Board& board, std::vector<Update> updates) {
    const Kinds before = board.values();
    const auto present = board.state.present();
    try {
        board.step(std::move(updates));
    } catch (const sg::InvalidUpdateError& error) {
        CHECK(board.values() == before);
        CHECK(board.state.present() == present);
        return error.context().channel + ": " + error.message();
    }
    return "";
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("channels with a reducer have their initial value from the start, others are absent") {
    Board board;
    CHECK(board.has(&Kinds::list));
    CHECK(board.has(&Kinds::total));
    CHECK(board.has(&Kinds::path));
    for (const auto absent : {&Kinds::last, &Kinds::any, &Kinds::once, &Kinds::hidden}) CHECK_FALSE(board.has(absent));
    CHECK_FALSE(board.has(&Kinds::topic));
}

TEST_CASE("a last value takes one value a superstep and keeps it") {
    Board board;
    board.step({{sg::set(&Kinds::last, "a")}});
    board.step({{}});
    CHECK(board.values().last == "a");
    board.step({{sg::set(&Kinds::last, "")}});
    CHECK(board.has(&Kinds::last));
    const std::string why = refusal(board, {{sg::set(&Kinds::last, "b")}, {sg::set(&Kinds::last, "b")}});
    CHECK(says(why, "last: "));
    CHECK(says(why, "'t0', 't1'"));
    CHECK(says(why, "give it a reducer"));
    CHECK(says(refusal(board, {{sg::set(&Kinds::last, "b"), sg::set(&Kinds::last, "c")}}), "got 2 values"));
}

TEST_CASE("a clear makes a last value absent, and is a value of its superstep") {
    Board board;
    board.step({{sg::set(&Kinds::last, "a")}});
    CHECK(says(refusal(board, {{sg::set(&Kinds::last, "b")}, {sg::clear(&Kinds::last)}}), "got 2 values"));
    board.step({{sg::clear(&Kinds::last)}});
    CHECK_FALSE(board.has(&Kinds::last));
    CHECK(board.values().last.empty());
}

TEST_CASE("any_value takes the last of several and is gone after a superstep that wrote none") {
    Board board;
    board.step({{sg::set(&Kinds::any, "a")}, {sg::set(&Kinds::any, "b")}});
    CHECK(board.values().any == "b");
    board.step({{sg::set(&Kinds::last, "x")}});
    CHECK_FALSE(board.has(&Kinds::any));
    CHECK(board.values().any.empty());
}

TEST_CASE("an ephemeral value is seen for one superstep and takes one value") {
    Board board;
    board.step({{sg::set(&Kinds::once, "a")}});
    CHECK(board.values().once == "a");
    board.step({{sg::set(&Kinds::once, "b")}});
    CHECK(board.values().once == "b");
    board.step({{}});
    CHECK_FALSE(board.has(&Kinds::once));
    CHECK(says(refusal(board, {{sg::set(&Kinds::once, "a")}, {sg::set(&Kinds::once, "b")}}), "once: "));
}

TEST_CASE("an untracked value stays like a last value and takes one") {
    Board board;
    board.step({{sg::set(&Kinds::hidden, "a")}});
    board.step({{}});
    CHECK(board.values().hidden == "a");
    CHECK(says(refusal(board, {{sg::set(&Kinds::hidden, "a")}, {sg::set(&Kinds::hidden, "b")}}), "hidden: "));
}

TEST_CASE("a topic holds what one superstep wrote, items and lists in task order") {
    Board board;
    board.step(
        {{sg::add(&Kinds::topic, "a")}, {sg::add(&Kinds::topic, Strings{"b", "c"}), sg::add(&Kinds::topic, "d")}});
    CHECK(board.values().topic == Strings{"a", "b", "c", "d"});
    board.step({{sg::add(&Kinds::topic, "e")}});
    CHECK(board.values().topic == Strings{"e"});
    board.step({{}});
    CHECK_FALSE(board.has(&Kinds::topic));
    CHECK(board.values().topic.empty());
}

TEST_CASE("reducers fold in task order onto the initial value") {
    Board board;
    board.step({{sg::add(&Kinds::list, "a"), sg::add(&Kinds::total, 1), sg::add(&Kinds::low, 7),
                 sg::add(&Kinds::high, 7), sg::add(&Kinds::path, "x")},
                {sg::add(&Kinds::list, Strings{"b", "c"}), sg::add(&Kinds::total, -5), sg::add(&Kinds::low, 9),
                 sg::add(&Kinds::high, 3), sg::add(&Kinds::path, "y")}});
    CHECK(board.values().list == Strings{"first", "a", "b", "c"});
    CHECK(board.values().total == 6);
    CHECK(board.values().low == 7);
    CHECK(board.values().high == 7);
    CHECK(board.values().path == "root/x/y");
}

TEST_CASE("merge puts entries and later tasks win") {
    Board board;
    board.step({{sg::merge(&Kinds::table, {{"a", 1}, {"b", 1}})}, {sg::merge(&Kinds::table, {{"b", 2}})}});
    board.step({{sg::merge(&Kinds::table, {{"a", 3}, {"c", 4}})}});
    CHECK(board.values().table == std::map<std::string, int>{{"a", 3}, {"b", 2}, {"c", 4}});
}

// quirk 6: one overwrite wins the whole superstep, over what is written before and after it.
TEST_CASE("an overwrite wins over every other write of its superstep and later writes fold onto it") {
    Board board;
    board.step({{sg::add(&Kinds::list, "before")},
                {sg::overwrite(&Kinds::list, Strings{"new"})},
                {sg::add(&Kinds::list, "after")}});
    CHECK(board.values().list == Strings{"new"});
    board.step({{sg::add(&Kinds::list, "d")}});
    CHECK(board.values().list == Strings{"new", "d"});
    board.step({{sg::add(&Kinds::total, 5)}, {sg::overwrite(&Kinds::total, 1)}});
    CHECK(board.values().total == 1);
    board.step({{sg::overwrite(&Kinds::table, {{"z", 1}})}, {sg::merge(&Kinds::table, {{"y", 1}})}});
    CHECK(board.values().table == std::map<std::string, int>{{"z", 1}});
    board.step({{sg::add(&Kinds::topic, "a")}, {sg::overwrite(&Kinds::topic, Strings{"b"})}});
    CHECK(board.values().topic == Strings{"b"});
}

// quirk 5: the payload is stored and not a wrapper, and the first write counts towards the limit.
TEST_CASE("two overwrites in one superstep are refused, the first write of a channel too") {
    Board board;
    CHECK(says(
        refusal(board, {{sg::overwrite(&Kinds::topic, Strings{"b"})}, {sg::overwrite(&Kinds::topic, Strings{"c"})}}),
        "2 overwrites in one superstep (by 't0', 't1')"));
    CHECK(says(refusal(board, {{sg::overwrite(&Kinds::total, 1), sg::overwrite(&Kinds::total, 1)}}), "total: "));
    CHECK(says(refusal(board, {{sg::overwrite(&Kinds::table, {})}, {sg::clear(&Kinds::table)}}), "table: "));
    board.step({{sg::overwrite(&Kinds::topic, Strings{"b"})}});
    CHECK(board.values().topic == Strings{"b"});
}

TEST_CASE("a clear gives a reducer its initial value again, whatever else is added") {
    Board board;
    board.step({{sg::add(&Kinds::list, "a"), sg::add(&Kinds::total, 5), sg::add(&Kinds::path, "x")}});
    board.step(
        {{sg::add(&Kinds::list, "b"), sg::clear(&Kinds::list), sg::clear(&Kinds::total), sg::clear(&Kinds::path)}});
    CHECK(board.values().list == Strings{"first"});
    CHECK(board.values().total == 10);
    CHECK(board.values().path == "root");
    CHECK(board.has(&Kinds::list));
}

TEST_CASE("a reducer that throws leaves the state as it was and is named") {
    Board board;
    board.step({{sg::add(&Kinds::list, "a"), sg::set(&Kinds::any, "v"), sg::set(&Kinds::once, "o")}});
    const Kinds before = board.values();
    try {
        board.step({{sg::add(&Kinds::list, "b"), sg::add(&Kinds::total, 1), sg::add(&Kinds::path, "x"),
                     sg::set(&Kinds::last, "l"), sg::merge(&Kinds::table, {{"a", 1}})},
                    {sg::add(&Kinds::path, "bad"), sg::add(&Kinds::low, 1)}});
        FAIL("the reducer should have thrown");
    } catch (const sg::InvalidUpdateError& error) {
        CHECK(error.context().channel == "path");
        CHECK(says(error.message(), "cannot join this"));
        CHECK_THROWS_AS(std::rethrow_if_nested(error), std::runtime_error);
    }
    CHECK(board.values() == before);
    CHECK_FALSE(board.has(&Kinds::last));
    CHECK(board.has(&Kinds::once));
}

TEST_CASE("a sum that does not fit into its channel's type is refused, and the state is as before") {
    constexpr int most = std::numeric_limits<int>::max();
    Board board;
    const std::string why = refusal(
        board, {{sg::add(&Kinds::total, most - 10)}, {sg::add(&Kinds::total, 1)}, {sg::add(&Kinds::list, "a")}});
    CHECK(why == "total: the reducer of channel 'total' failed: the sum of " + std::to_string(most) +
                     " and 1 does not fit into a signed integer of 32 bits; give the channel a wider type, or double");
    board.step({{sg::add(&Kinds::total, most - 10)}});
    CHECK(board.values().total == most);
    board.step({{sg::add(&Kinds::total, -5)}, {sg::add(&Kinds::total, 5)}});
    CHECK(board.values().total == most);
}

TEST_CASE("sums of integers of any width and sign are exact or refused, and other numbers are added") {
    const sg::detail::reducers::Sum sum;
    CHECK(sum(std::int8_t{100}, std::int8_t{27}) == 127);
    CHECK_THROWS_WITH_AS(sum(std::int8_t{-100}, std::int8_t{-29}),
                         doctest::Contains("the sum of -100 and -29 does not fit into a signed integer of 8 bits"),
                         std::overflow_error);
    CHECK(sum(std::uint16_t{65'000}, std::uint16_t{535}) == 65'535);
    CHECK_THROWS_AS(sum(std::uint16_t{65'000}, std::uint16_t{536}), std::overflow_error);
    constexpr auto most = std::numeric_limits<std::uint64_t>::max();
    CHECK(sum(most - 1, std::uint64_t{1}) == most);
    CHECK_THROWS_WITH_AS(sum(most, std::uint64_t{1}), doctest::Contains("18446744073709551615 and 1 does not fit"),
                         std::overflow_error);
    CHECK_THROWS_AS(sum(std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}), std::overflow_error);
    CHECK(sum(1e308, 1e308) > 1e308);
    CHECK(sum(std::string("a"), std::string("b")) == "ab");
    static_assert(sg::detail::reducers::Sum()(2, 3) == 5);
}

TEST_CASE("the wrong operation for a channel is refused with the right one") {
    const auto why = [](Update update) {
        try {
            schema().check(update);
        } catch (const sg::InvalidUpdateError& error) {
            return error.context().channel + ": " + error.message();
        }
        return std::string();
    };
    CHECK(says(why({sg::detail::setMember(&Kinds::list, Strings{})}), "use add()"));
    CHECK(says(why({sg::detail::setMember(&Kinds::topic, Strings{})}), "use add()"));
    CHECK(says(why({sg::detail::setMember(&Kinds::total, 1)}), "total: "));
    CHECK(says(why({sg::detail::addToMember(&Kinds::last, std::string("x"))}), "use set()"));
    for (const auto member : {&Kinds::any, &Kinds::once, &Kinds::hidden})
        CHECK(says(why({sg::detail::addToMember(member, std::string("x"))}), "use set()"));
    CHECK(why({sg::overwrite(&Kinds::last, "x")}).empty());
    CHECK(why({}).empty());
}

TEST_CASE("the log of a superstep has an entry for each channel that changed and none for untracked ones") {
    Board board;
    std::vector<Update> updates;
    updates.push_back({sg::set(&Kinds::hidden, "h"), sg::add(&Kinds::list, "a"), sg::set(&Kinds::last, "l")});
    WriteSet writes;
    Board::add(writes, updates);
    sg::engine::OperationLog log;
    applyWrites(board.state, writes, {}, &log);
    CHECK(log.count == 2);
    CHECK_FALSE(says(log.entries, "hidden"));
    CHECK_FALSE(says(log.entries, "first"));  // the earlier value is not written again
}
