#include <stategraph/testing/fault_saver.hpp>

#include <exception>
#include <memory>
#include <optional>

#include <doctest/doctest.h>

#include <stategraph/graph_fingerprint.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/testing/records.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

namespace sg = stategraph;
using sg::testing::FaultPlan;
using sg::testing::FaultSaver;
using sg::testing::SaverCalls;

namespace {

// Answers before its calls return, and says that it answers later, as a saver over a network does.
class Later final : public sg::ForwardingSaver {
public:
    using ForwardingSaver::ForwardingSaver;
    bool answersLater() const noexcept override { return true; }
    std::size_t commitsAhead() const noexcept override { return 4; }
};

struct Put final : sg::PutCompletion {
    int times = 0;
    std::exception_ptr failure;
    void complete(std::exception_ptr told) noexcept override {
        ++times;
        failure = std::move(told);
    }
};
struct Read final : sg::TupleCompletion {
    int times = 0;
    std::optional<sg::CheckpointTuple> tuple;
    std::exception_ptr failure;
    void complete(std::optional<sg::CheckpointTuple> found, std::exception_ptr told) noexcept override {
        ++times;
        tuple = std::move(found);
        failure = std::move(told);
    }
};

struct Bed {
    std::shared_ptr<sg::MemorySaver> store = std::make_shared<sg::MemorySaver>();
    FaultSaver saver{std::make_shared<Later>(store)};
    std::string bytes = sg::testing::makeCommitRecord({.id = sg::testing::nthId(1)});

    Put put() {
        const sg::CommitRow row{
            .id = sg::testing::nthId(1), .parent = {}, .base = sg::testing::nthId(1), .bytes = bytes};
        Put told;
        saver.asyncPut({.log = {"t"}, .expected_head = {}, .commits = {&row, 1}, .writes = {}}, told);
        return told;
    }
    Read read() {
        Read told;
        saver.asyncGetTuple({.log = {"t"}}, told);
        return told;
    }
    bool isStored() { return store->getTuple({.log = {"t"}}).has_value(); }
};

}  // namespace

TEST_CASE("a FaultSaver says what the saver inside says") {
    Bed bed;
    CHECK(bed.saver.answersLater());
    CHECK(bed.saver.commitsAhead() == 4);
    CHECK(bed.saver.holdsThreads() == bed.store->holdsThreads());
    CHECK(bed.saver.storedBytes() == bed.store->storedBytes());
    bed.saver.putGraph({1, 2}, "description");
    CHECK(bed.saver.getGraph({1, 2}) == bed.store->getGraph({1, 2}));
    CHECK_FALSE(FaultSaver(bed.store, {}, false).putIsSlow());
    CHECK_THROWS_AS(FaultSaver(nullptr), sg::InvalidArgumentError);
}

TEST_CASE("puts and reads that are answered later fail as planned, before or after their effect, and are told once") {
    for (const bool after_effect : {false, true}) {
        CAPTURE(after_effect);
        Bed bed;
        bed.saver.arm({.fail_at = 1, .after_effect = after_effect, .calls = SaverCalls::put});
        const Put failed = bed.put();
        CHECK(failed.times == 1);
        CHECK_THROWS_AS(std::rethrow_exception(failed.failure), sg::SaverError);
        CHECK(bed.isStored() == after_effect);
        CHECK(bed.saver.failures() == 1);
        if (!after_effect) {
            const Put second = bed.put();
            CHECK(second.times == 1);
            CHECK_FALSE(second.failure);
        }

        CHECK(bed.read().tuple);
        bed.saver.arm({.fail_at = 1, .after_effect = after_effect, .calls = SaverCalls::get_tuple});
        const Read unread = bed.read();
        CHECK(unread.times == 1);
        CHECK(unread.failure);
        CHECK_FALSE(unread.tuple);
        CHECK(bed.read().tuple);
    }
}
