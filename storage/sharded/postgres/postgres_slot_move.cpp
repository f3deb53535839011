#include "storage/sharded/postgres/postgres_slot_move.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "storage/postgres/postgres_shard_tables.hpp"
#include "storage/postgres/postgres_tables.hpp"

namespace stategraph::checkpoint {
namespace {

// A move that says nothing for so long is over. Writers wait for the second.
constexpr std::int64_t copying_ms = 30'000;
constexpr std::int64_t leaving_ms = 5'000;
constexpr std::int64_t drain_ms = 3'000;
constexpr auto renew_after = std::chrono::milliseconds(500);
// Threads that were written to are copied again, until they are few enough to be copied while writers wait.
constexpr std::size_t few_threads = 8;
constexpr int rounds_max = 20;
constexpr std::int64_t cleared_at_once = 200;

constexpr const char* moving = "move a slot";

std::int64_t numberOf(std::size_t slot) noexcept { return static_cast<std::int64_t>(slot); }
std::int64_t numberOf(SlotState state) noexcept { return static_cast<std::int64_t>(state); }

}  // namespace

SlotEnd::SlotEnd(std::string name, const PostgresErrors& errors, PostgresSettings settings,
                 std::atomic<std::uint64_t>& round_trips)
    : name_(std::move(name)),
      settings_(std::move(settings)),
      statements_(quotedName(errors.schema())),
      rows_(errors, settings_, round_trips),
      map_(errors, settings_, round_trips) {}

SlotMove::SlotMove(SlotEnd& from, SlotEnd& to, const SlotMoveOptions& options, SlotMoveReport& report)
    : from_(from),
      to_(to),
      options_(options),
      report_(report),
      copy_(from.rows(), to.rows(),
            {quotedName(from.rows().errors().schema()), quotedName(to.rows().errors().schema())}, [this] { renew(); }) {
}

void SlotMove::tell(SlotMoveStep step) {
    if (options_.on_progress) options_.on_progress({slot_, from_.name(), to_.name(), step, threads_});
}

void SlotMove::stepTo(SlotState before, SlotState after) {
    PostgresParameters parameters;
    parameters.number(numberOf(slot_)).number(version_).number(numberOf(before)).number(numberOf(after));
    parameters.number(after == SlotState::leaving ? leaving_ms : copying_ms);
    renewed_ = Clock::now();
    if (from_.map().run(from_.statements().step, parameters, moving).rows() == 0)
        throw SlotMoveLost("the move of slot " + std::to_string(slot_) + " from '" + from_.name() +
                           "' took too long at one step and was ended by a writer, or another move of it has begun");
    state_ = after;
}

void SlotMove::renew() {
    if (Clock::now() - renewed_ >= renew_after) stepTo(state_, state_);
}

// Those that began before the state was changed hold the slot's row; those that begin now do not lock it.
void SlotMove::drain() {
    const PostgresParameters limit = std::move(PostgresParameters().number(drain_ms));
    const PostgresParameters slot = std::move(PostgresParameters().number(numberOf(slot_)));
    const PostgresConnection::Step steps[] = {{from_.statements().lock_time, limit}, {from_.statements().drain, slot}};
    try {
        (void)from_.map().runAll(steps, moving);
    } catch (const PostgresRefused& error) {
        if (error.sqlstate() != "55P03") throw;
        throw SlotMoveLost("a write to a thread of slot " + std::to_string(slot_) + " in '" + from_.name() +
                           "' did not end within " + std::to_string(drain_ms) + " ms");
    }
}

// The source first: from then on no older move can be decided, and only then may the target forget what that copied.
void SlotMove::begin() {
    waiting_since_ = renewed_ = Clock::now();
    const auto begun =
        from_.map().run(from_.statements().begin,
                        PostgresParameters().number(numberOf(slot_)).text(to_.name()).number(leaving_ms), moving);
    if (begun.rows() == 0)
        throw SlotMoveLost("slot " + std::to_string(slot_) + " is not in '" + from_.name() + "' any more");
    version_ = begun.number(0, 0);
    state_ = SlotState::leaving;
    drain();
    (void)from_.map().run(from_.statements().forget, PostgresParameters().number(numberOf(slot_)), moving);
    stepTo(SlotState::leaving, SlotState::copying);
    const auto waited = std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - waiting_since_);
    report_.longest_wait = std::max(report_.longest_wait, waited);

    PostgresParameters arrival;
    arrival.number(numberOf(slot_)).number(version_).text(from_.name());
    if (to_.map().run(to_.statements().arrive, arrival, moving).rows() == 0)
        throw SlotMoveLost("another move of slot " + std::to_string(slot_) + " to '" + to_.name() + "' has begun");
    clearRows(to_, slot_, version_, SlotState::arriving, [this] { renew(); });
    copy_.begin(slot_, version_);
    copy_.copyGraphs();
    tell(SlotMoveStep::begun);
}

void SlotMove::copyAll() {
    for (std::string last;;) {
        const std::vector<std::string> threads = copy_.threadsAfter(last, options_.threads_at_once);
        copy_.copyThreads(threads, true);
        threads_ += threads.size();
        renew();
        tell(SlotMoveStep::copying);
        if (threads.size() < options_.threads_at_once) return;
        last = threads.back();
    }
}

// Until a look finds at most so many.
void SlotMove::copyTouched(std::size_t threads_max) {
    for (int round = 0; round < rounds_max; ++round) {
        const SlotCopy::Touched touched = copy_.takeTouched();
        copy_.copyThreads(touched.changed, true);
        copy_.copyThreads(touched.appended, false);
        const std::size_t count = touched.changed.size() + touched.appended.size();
        threads_ += count;
        renew();
        if (count <= threads_max) return;
    }
    if (threads_max == 0)
        throw SlotMoveLost("slot " + std::to_string(slot_) + " of '" + from_.name() + "' has too many new commits");
}

void SlotMove::leave() {
    waiting_since_ = Clock::now();
    stepTo(SlotState::copying, SlotState::leaving);
    drain();
    tell(SlotMoveStep::leaving);
    copyTouched(0);
    copy_.copyQueue();
    // A worker that releases a thread waits for no lock of the slot, so that it can come in between.
    if (!copy_.isSame())
        throw SlotMoveLost("slot " + std::to_string(slot_) + " was not moved from '" + from_.name() + "' to '" +
                           to_.name() +
                           "': after copying, its threads differ; is another program without this library "
                           "writing to the tables?");
    const PostgresParameters arrived = std::move(PostgresParameters().number(numberOf(slot_)).number(version_));
    if (to_.map().run(to_.statements().confirm, arrived, moving).rows() == 0)
        throw SlotMoveLost("another move of slot " + std::to_string(slot_) + " to '" + to_.name() + "' has begun");
    PostgresParameters decision;
    decision.number(numberOf(slot_)).number(version_).text(to_.name());
    if (from_.map().run(from_.statements().decide, decision, moving).rows() == 0)
        throw SlotMoveLost("the move of slot " + std::to_string(slot_) + " took too long, and a writer ended it");
    state_ = SlotState::away;
}

// If this fails too, the next writer does it when its time is over.
void SlotMove::undo() noexcept {
    if (version_ == 0 || state_ == SlotState::away) return;
    try {
        (void)from_.map().run(from_.statements().undo, PostgresParameters().number(numberOf(slot_)).number(version_),
                              moving);
    } catch (const std::exception&) {  // the first failure is the one to report
    }
}

void SlotMove::move(std::size_t slot) {
    slot_ = slot;
    version_ = 0;
    threads_ = 0;
    copy_.resetCounts();
    state_ = SlotState::owned;
    try {
        begin();
        copyAll();
        copyTouched(few_threads);
        leave();
    } catch (...) {
        undo();
        throw;
    }
    // The slot is the target's now. If this process dies here, the next reader of the map does what follows.
    (void)to_.map().run(to_.statements().finish,
                        PostgresParameters().number(numberOf(slot_)).number(version_).text(to_.name()), moving);
    const auto waited = std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - waiting_since_);
    report_.longest_wait = std::max(report_.longest_wait, waited);
    ++report_.slots;
    report_.threads += threads_;
    report_.commits += copy_.commits();
    report_.bytes += copy_.bytes();
    tell(SlotMoveStep::moved);
    clear(from_, slot_, to_);
    tell(SlotMoveStep::cleared);
}

void SlotMove::clearRows(SlotEnd& end, std::size_t slot, std::int64_t version, SlotState state,
                         const std::function<void()>& tick) {
    PostgresParameters which;
    which.number(numberOf(slot)).number(version).number(numberOf(state));
    (void)end.rows().run(end.statements().clear_rest, which, "clear a slot");
    PostgresParameters some;
    some.number(numberOf(slot)).number(version).number(numberOf(state)).number(cleared_at_once);
    while (end.rows().run(end.statements().clear, some, "clear a slot").number(0, 0) == cleared_at_once) tick();
}

// A move to there cannot be decided any more once the owner's row says that none is under way, in a version that is not
// older.
void SlotMove::clear(SlotEnd& end, std::size_t slot, SlotEnd& owner) {
    const PostgresParameters which = std::move(PostgresParameters().number(numberOf(slot)));
    constexpr const char* clearing = "clear a slot";
    (void)owner.map().run(owner.statements().end_dead, which, clearing);
    const auto owned = owner.map().run(owner.statements().state, which, clearing);
    if (owned.rows() > 0 && static_cast<SlotState>(owned.number(0, 0)) == SlotState::owned)
        (void)end.map().run(end.statements().end_arrival,
                            PostgresParameters().number(numberOf(slot)).number(owned.number(0, 1)), clearing);
    const auto row = end.map().run(end.statements().state, which, clearing);
    if (row.rows() == 0 || static_cast<SlotState>(row.number(0, 0)) != SlotState::away) return;
    clearRows(end, slot, row.number(0, 1), SlotState::away, [] {});
}

}  // namespace stategraph::checkpoint
