#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "tests/async/later.hpp"
#include "tests/support/encryption.hpp"

// An EncryptedSaver around a saver that answers later.
using namespace graphs;

namespace {

bool holds(sg::BaseCheckpointSaver& saver, const std::string& text) {
    for (const auto& row : saver.list({.with_writes = true})) {
        if (std::string_view(row.bytes).find(text) != std::string_view::npos) return true;
        for (const auto& write : row.writes) {
            if (write.bytes.find(text) != std::string::npos) return true;
        }
    }
    return false;
}

}  // namespace

TEST_CASE("awaited runs store sealed rows through a saver that answers later, and read them") {
    for (const auto durability : durabilities) {
        for (const drivers::Driver& driver : drivers::all()) {
            CAPTURE(driver.name);
            const auto memory = std::make_shared<sg::MemorySaver>();
            const auto later = std::make_shared<LaterSaver>(memory);
            const auto saver = std::make_shared<sg::EncryptedSaver>(later, encryption::key("k"));
            CHECK(saver->answersLater());
            const App app = wide(saver);
            const sg::RunConfig config{.thread_id = "t", .durability = durability};
            const auto asked = driver.run(app, Update{sg::set(&State::foo, "a secret")}, config);
            REQUIRE(asked.what() == "");
            // What the index of threads hears of the question compares rows, which are read first.
            if (isAwaited(driver)) CHECK(later->waitedFor() <= 2);
            REQUIRE(asked.interrupts.size() == 1);
            const auto done = driver.run(app, sg::Command<State>{.resume = "yes"}, config);
            REQUIRE(done.what() == "");
            CHECK(done.values == State{"a secret", {"a", "b", "c", "answer yes", "end"}, 0});
            CHECK_FALSE(holds(*memory, "a secret"));
            CHECK(holds(*saver, "a secret"));
        }
    }
}

TEST_CASE("an EncryptedSaver answers later only if the saver inside does") {
    const auto memory = std::make_shared<sg::MemorySaver>();
    CHECK_FALSE(sg::EncryptedSaver(memory, encryption::key("k")).answersLater());
}

TEST_CASE("the completion receives the error of rows that cannot be sealed or opened") {
    encryption::KeyTable table{.seeds = {{"k", 1}}, .current = "k"};
    const auto memory = std::make_shared<sg::MemorySaver>();
    const auto later = std::make_shared<LaterSaver>(memory, std::chrono::microseconds(0), LaterSaver::Answer::at_once);
    sg::EncryptedSaver saver(later, table.options());
    (void)wide(std::make_shared<sg::EncryptedSaver>(memory, encryption::key("other", 9)))
        .invoke(Update{}, {.thread_id = "t"});
    KeptRead read;
    saver.asyncGetTuple({.log = {"t"}}, read);
    CHECK(read.calls == 1);
    CHECK_FALSE(read.tuple.has_value());
    CHECK_THROWS_AS(std::rethrow_exception(read.failure), sg::CorruptCheckpointError);
    struct Put final : sg::PutCompletion {
        int calls = 0;
        std::exception_ptr failure;
        void complete(std::exception_ptr why) noexcept override {
            ++calls;
            failure = std::move(why);
        }
    } put;
    table.current = "missing";
    const sg::CommitRow row{.id = {1, 1}, .base = {1, 1}, .bytes = "bytes"};
    saver.asyncPut({.log = {"u"}, .expected_head = {}, .commits = {&row, 1}, .writes = {}}, put);
    CHECK(put.calls == 1);
    CHECK(put.failure != nullptr);
    CHECK_FALSE(memory->getTuple({.log = {"u"}}).has_value());
}
