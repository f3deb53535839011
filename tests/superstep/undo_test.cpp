#include <random>
#include <set>

#include <doctest/doctest.h>

#include "tests/support/kinds.hpp"
#include "tests/support/seed.hpp"

// Undoing the writes of a superstep.
using namespace kinds;

namespace {

// Random writes that no channel refuses: at most one value for channels that accept one, and at most one overwrite or
// clear.
class Writer {
public:
    Writer(unsigned seed, bool topics) : random_(seed), topics_(topics) {}

    std::vector<Update> superstep() {
        std::vector<Update> updates(1 + pick(4));
        taken_.clear();
        const int count = pick(12);
        for (int i = 0; i < count; ++i)
            write(updates[static_cast<std::size_t>(pick(static_cast<int>(updates.size())))]);
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
            case 0:
                single(update, "last", &Kinds::last);
                break;
            case 1:
                single(update, "once", &Kinds::once);
                break;
            case 2:
                single(update, "hidden", &Kinds::hidden);
                break;
            case 3:
                update.with(sg::set(&Kinds::any, text()));
                break;
            case 4:
                update.with(sg::add(&Kinds::list, text()));
                break;
            case 5:
                reduced(update, "list", &Kinds::list, Strings{text(), text()});
                break;
            case 6:
                reduced(update, "table", &Kinds::table,
                        std::map<std::string, int>{{text().substr(0, 1), pick(9)}, {"k", pick(9)}});
                break;
            case 7:
                reduced(update, "total", &Kinds::total, pick(100));
                break;
            case 8:
                reduced(update, "low", &Kinds::low, pick(100));
                break;
            case 9:
                reduced(update, "high", &Kinds::high, pick(100));
                break;
            case 10:
                reduced(update, "path", &Kinds::path, text());
                break;
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

// One set is used for all supersteps, like that of a run; the other one is new, and is filled as if for several tasks.
void checkOnlyTask(unsigned seed) {
    Writer writer(seed, true);
    Board board;
    Board beside;
    WriteSet assigned;
    for (int step = 0; step < 40; ++step) {
        CAPTURE(step);
        Update update = writer.superstep().front();
        schema().check(update);
        Update again = update;
        assigned.assign(schema(), update, "t");
        WriteSet added;
        added.add(schema(), again, "t");
        added.close(schema());
        REQUIRE(assigned.groups().size() == added.groups().size());
        for (std::size_t i = 0; i < added.groups().size(); ++i) {
            REQUIRE(assigned.groups()[i].channel == added.groups()[i].channel);
            REQUIRE(assigned.ops(assigned.groups()[i]).size() == added.ops(added.groups()[i]).size());
        }
        sg::engine::OperationLog log;
        applyWrites(board.state, assigned, {}, nullptr);
        applyWrites(beside.state, added, {}, &log);
        REQUIRE(board.values() == beside.values());
        REQUIRE(board.state.present() == beside.state.present());
    }
}

}  // namespace

TEST_CASE("undoing a superstep restores every channel exactly") {
    const unsigned first_seed = tests::seed();
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

TEST_CASE("the writes of a superstep's only task have the effect that they have in a set for several") {
    const unsigned first_seed = tests::seed();
    for (unsigned seed = first_seed; seed < first_seed + 60; ++seed) {
        CAPTURE(seed);
        checkOnlyTask(seed);
    }
}
