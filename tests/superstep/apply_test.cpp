#include "src/superstep/apply.hpp"

#include <deque>
#include <map>
#include <random>
#include <set>
#include <stdexcept>

#include <doctest/doctest.h>

#include <stategraph/codec_std.hpp>
#include <stategraph/error.hpp>
#include <stategraph/update.hpp>

// Folding the writes of a superstep into channels of every kind.
namespace sg = stategraph;
using sg::engine::State;
using sg::engine::WriteSet;
using Strings = std::vector<std::string>;

namespace {

std::string joinTexts(const std::string& value, const std::string& written) {
    if (written == "bad") throw std::runtime_error("cannot join this");
    return value + "/" + written;
}

struct Kinds {
    std::string last = {};
    std::string any = {};
    std::string once = {};
    std::string hidden = {};
    Strings list = {"first"};
    Strings topic = {};
    std::map<std::string, int> table = {};
    int total = 10;
    int low = 100;
    int high = 0;
    std::string path = "root";

    static constexpr auto channels() {
        return sg::channels(sg::channel("last", &Kinds::last), sg::channel("any", &Kinds::any, sg::any_value),
                            sg::channel("once", &Kinds::once, sg::ephemeral), sg::channel("hidden", &Kinds::hidden, sg::untracked),
                            sg::channel("list", &Kinds::list, sg::append), sg::channel("topic", &Kinds::topic, sg::topic),
                            sg::channel("table", &Kinds::table, sg::merge), sg::channel("total", &Kinds::total, sg::sum),
                            sg::channel("low", &Kinds::low, sg::min), sg::channel("high", &Kinds::high, sg::max),
                            sg::channel("path", &Kinds::path, sg::reduce("join", &joinTexts)));
    }
    bool operator==(const Kinds&) const = default;
};
using Update = sg::Update<Kinds>;

const sg::detail::Schema& schema() { return sg::detail::schemaOf<Kinds>(); }

struct Board {
    State state{schema()};
    Kinds& values() { return *static_cast<Kinds*>(state.object()); }
    template <class T>
    bool has(T Kinds::*member) const {
        return state.has(sg::detail::channelIndex(member));
    }

    /// One superstep of a task for each update.
    void step(std::vector<Update> updates) {
        WriteSet writes;
        add(writes, updates);
        std::vector<sg::detail::ChannelIndex> ending;
        findEnding(state, writes, ending);
        applyWrites(state, writes, ending, nullptr);
        endChannels(state, ending);
    }
    static void add(WriteSet& writes, std::vector<Update>& updates) {
        static const std::vector<std::string> names = {"t0", "t1", "t2", "t3", "t4", "t5"};
        for (std::size_t i = 0; i < updates.size(); ++i) {
            schema().check(updates[i]);
            writes.add(schema(), updates[i], names.at(i));
        }
        writes.close(schema());
    }
};

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
    board.step({{sg::add(&Kinds::topic, "a")}, {sg::add(&Kinds::topic, Strings{"b", "c"}), sg::add(&Kinds::topic, "d")}});
    CHECK(board.values().topic == Strings{"a", "b", "c", "d"});
    board.step({{sg::add(&Kinds::topic, "e")}});
    CHECK(board.values().topic == Strings{"e"});
    board.step({{}});
    CHECK_FALSE(board.has(&Kinds::topic));
    CHECK(board.values().topic.empty());
}

TEST_CASE("reducers fold in task order onto the initial value") {
    Board board;
    board.step({{sg::add(&Kinds::list, "a"), sg::add(&Kinds::total, 1), sg::add(&Kinds::low, 7), sg::add(&Kinds::high, 7),
                 sg::add(&Kinds::path, "x")},
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
    board.step({{sg::add(&Kinds::list, "before")}, {sg::overwrite(&Kinds::list, Strings{"new"})}, {sg::add(&Kinds::list, "after")}});
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
    CHECK(says(refusal(board, {{sg::overwrite(&Kinds::topic, Strings{"b"})}, {sg::overwrite(&Kinds::topic, Strings{"c"})}}),
               "2 overwrites in one superstep (by 't0', 't1')"));
    CHECK(says(refusal(board, {{sg::overwrite(&Kinds::total, 1), sg::overwrite(&Kinds::total, 1)}}), "total: "));
    CHECK(says(refusal(board, {{sg::overwrite(&Kinds::table, {})}, {sg::clear(&Kinds::table)}}), "table: "));
    board.step({{sg::overwrite(&Kinds::topic, Strings{"b"})}});
    CHECK(board.values().topic == Strings{"b"});
}

TEST_CASE("a clear gives a reducer its initial value again, whatever else is added") {
    Board board;
    board.step({{sg::add(&Kinds::list, "a"), sg::add(&Kinds::total, 5), sg::add(&Kinds::path, "x")}});
    board.step({{sg::add(&Kinds::list, "b"), sg::clear(&Kinds::list), sg::clear(&Kinds::total), sg::clear(&Kinds::path)}});
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
        board.step({{sg::add(&Kinds::list, "b"), sg::add(&Kinds::total, 1), sg::add(&Kinds::path, "x"), sg::set(&Kinds::last, "l"),
                     sg::merge(&Kinds::table, {{"a", 1}})},
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

TEST_CASE("the wrong operation for a channel is refused with the right one") {
    const auto why = [](Update update) {
        try {
            schema().check(update);
        } catch (const sg::InvalidUpdateError& error) {
            return error.context().channel + ": " + error.message();
        }
        return std::string();
    };
    CHECK(says(why({sg::set(&Kinds::list, Strings{})}), "use add()"));
    CHECK(says(why({sg::set(&Kinds::topic, Strings{})}), "use add()"));
    CHECK(says(why({sg::set(&Kinds::total, 1)}), "total: "));
    CHECK(says(why({sg::add(&Kinds::last, "x")}), "use set()"));
    for (const auto member : {&Kinds::any, &Kinds::once, &Kinds::hidden}) CHECK(says(why({sg::add(member, "x")}), "use set()"));
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
    CHECK(says(log.entries, "append"));
    CHECK_FALSE(says(log.entries, "first"));  // what was there before is not written again
}

namespace {

// Random writes that no channel refuses: at most one value for those that take one, at most one overwrite or clear.
class Writer {
public:
    Writer(unsigned seed, bool topics) : random_(seed), topics_(topics) {}

    std::vector<Update> superstep() {
        std::vector<Update> updates(1 + pick(4));
        taken_.clear();
        const int count = pick(12);
        for (int i = 0; i < count; ++i) write(updates[static_cast<std::size_t>(pick(static_cast<int>(updates.size())))]);
        return updates;
    }

private:
    int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
    std::string text() { return std::string(static_cast<std::size_t>(pick(40)), static_cast<char>('a' + pick(26))); }
    bool once(std::string channel) { return taken_.insert(std::move(channel)).second; }

    template <class T, class V>
    void reduced(Update& update, const char* name, T Kinds::*member, V value) {
        const int kind = pick(6);
        if (kind == 0 && once(name)) {
            update.with(sg::overwrite(member, T(std::move(value))));
        } else if (kind == 1 && once(name)) {
            update.with(sg::clear(member));
        } else {
            update.with(sg::add(member, std::move(value)));
        }
    }
    void single(Update& update, const char* name, std::string Kinds::*member) {
        if (!once(name)) return;
        const int kind = pick(4);
        if (kind == 0) {
            update.with(sg::clear(member));
        } else if (kind == 1) {
            update.with(sg::overwrite(member, text()));
        } else {
            update.with(sg::set(member, text()));
        }
    }
    void write(Update& update) {
        switch (pick(12)) {
            case 0: single(update, "last", &Kinds::last); break;
            case 1: single(update, "once", &Kinds::once); break;
            case 2: single(update, "hidden", &Kinds::hidden); break;
            case 3: update.with(sg::set(&Kinds::any, text())); break;
            case 4: update.with(sg::add(&Kinds::list, text())); break;
            case 5: reduced(update, "list", &Kinds::list, Strings{text(), text()}); break;
            case 6: reduced(update, "table", &Kinds::table, std::map<std::string, int>{{text().substr(0, 1), pick(9)}, {"k", pick(9)}}); break;
            case 7: reduced(update, "total", &Kinds::total, pick(100)); break;
            case 8: reduced(update, "low", &Kinds::low, pick(100)); break;
            case 9: reduced(update, "high", &Kinds::high, pick(100)); break;
            case 10: reduced(update, "path", &Kinds::path, text()); break;
            case 11:
                if (topics_) reduced(update, "topic", &Kinds::topic, Strings{text()});
                break;
        }
    }

    std::mt19937 random_;
    bool topics_;
    std::set<std::string> taken_;
};

void checkUndo(unsigned seed, bool topics) {
    Writer writer(seed, topics);
    Board board;
    for (int step = 0; step < 40; ++step) {
        CAPTURE(step);
        std::vector<Update> updates = writer.superstep();
        std::vector<Update> again = updates;
        const Kinds before = board.values();
        const auto present = board.state.present();
        WriteSet writes;
        Board::add(writes, updates);
        applyWrites(board.state, writes, {}, nullptr);
        undoWrites(board.state, writes, present);
        REQUIRE(board.values() == before);
        REQUIRE(board.state.present() == present);
        board.step(std::move(again));
    }
}

}  // namespace

TEST_CASE("undoing a superstep restores every channel exactly") {
    const unsigned first_seed = std::random_device{}();
    for (unsigned seed = first_seed; seed < first_seed + 60; ++seed) {
        CAPTURE(seed);
        checkUndo(seed, false);
    }
}

TEST_CASE("undoing a superstep restores topics too") {
    for (unsigned seed = 1; seed < 20; ++seed) {
        CAPTURE(seed);
        checkUndo(seed, true);
    }
}
