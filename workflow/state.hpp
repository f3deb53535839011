#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <stategraph/channel.hpp>
#include <stategraph/codec.hpp>
#include <stategraph/fields.hpp>
#include <stategraph/value.hpp>
#include <stategraph/workflow/definition.hpp>

// The state of every workflow's graph. Records and their words are what is stored; docs/workflows.md has the rules.
namespace stategraph::workflow {
struct Item;
struct Record;
/// How far a step is, or a run: Record::status and State::status.
enum class Word : std::uint8_t { none, running, waiting, suspended, success, failed, bailed, paused, canceled };
/// As it is stored and reported; the empty text for `none`.
const char* toString(Word word) noexcept;
}  // namespace stategraph::workflow
namespace stategraph {
template <>
struct Codec<workflow::Word> {
    static void encode(Encoder& encoder, workflow::Word word);
    static void decode(Decoder& decoder, workflow::Word& word);
};
/// A map of what differs from a new record, as most of a record does not.
template <>
struct Codec<workflow::Record> {
    static void encode(Encoder& encoder, const workflow::Record& record);
    static void decode(Decoder& decoder, workflow::Record& record);
};
template <>
struct Codec<workflow::Item> {
    static void encode(Encoder& encoder, const workflow::Item& item);
    static void decode(Decoder& decoder, workflow::Item& item);
};
}  // namespace stategraph

namespace stategraph::workflow {

/// One question of a step, and its answer.
struct Asked {
    Value payload = {};
    std::int64_t suspended_ms = 0;
    Value answer = {};
    std::int64_t resumed_ms = 0;  // 0: it is open

    static constexpr auto fields() {
        return stategraph::fields<&Asked::payload, &Asked::suspended_ms, &Asked::answer, &Asked::resumed_ms>();
    }
    friend bool operator==(const Asked&, const Asked&) = default;
};

/// What a step has set a key to that has a reducer.
struct Addition {
    std::string key = {};
    Value value = {};

    static constexpr auto fields() { return stategraph::fields<&Addition::key, &Addition::value>(); }
    friend bool operator==(const Addition&, const Addition&) = default;
};
using Additions = std::vector<Addition>;

/// What is kept of a step: of its last execution, and what the next one is given.
struct Record {
    /// None: it has not run, and `pending` waits for it. Running: it is to be executed again, with `pending`.
    Word status = Word::none;
    Value payload = {};
    Value output = {};
    std::string error = {};
    bool is_permanent = false;  // its failure is not to be retried
    Value asked = {};
    std::vector<std::string> labels = {};
    Value resumed = {};   // the last data given to it
    Value pending = {};   // data that its next execution is given
    Values answers = {};  // of a nested workflow: to questions below it, by their keys
    Value child = {};     // of a nested workflow: its State
    std::int64_t iteration = 0;
    std::int64_t attempts = 0;
    // Milliseconds since 1970; 0: not yet.
    std::int64_t started_ms = 0;
    std::int64_t ended_ms = 0;
    std::vector<Asked> questions = {};  // all of them, the last one last
};

/// What elements of a foreach that are under way share, in one process.
struct ForeachLeg {
    std::vector<Value> values;
    std::atomic<bool> is_over = false;  // no more are to begin
};

/// An element of a foreach on its way to the step.
struct Item {
    std::int64_t index = 0;
    Value value = {};
    /// Of this process alone: null in one that resumes what another left.
    std::shared_ptr<ForeachLeg> leg = {};
    bool is_first = false;  // it begins independent of the others; as many begin as may run at the same time
};

struct State {
    Value input = {};
    /// What the last entry returned.
    Value data = {};
    /// The entry that is due.
    std::int64_t at = 0;
    /// None while entries are due.
    Word status = Word::none;
    Value result = {};
    std::string error = {};
    std::map<std::string, Record> records = {};
    /// Of the foreach under way, by index.
    std::map<std::int64_t, Record> items = {};
    Values shared = {};
    /// Of members of the block under way, or elements of the foreach, by their place: to be reduced, in this order,
    /// when it ends or suspends.
    std::map<std::int64_t, Additions> additions = {};
    /// Of a nested workflow: all that has been reduced since it began or was resumed, for the workflow around it.
    Additions reduced = {};
    /// What the callers of the run gave, of what can be stored; the last caller's counts.
    Values context = {};
    /// What the run is listed by.
    Values metadata = {};
    /// The steps that were executed, in order.
    std::vector<std::string> path = {};
    /// The members of the branch under way.
    std::vector<std::string> chosen = {};
    bool is_canceled = false;
    bool is_single_step = false;
    /// For a nested workflow that is resumed: the answers, by the keys of questions.
    bool goes_on = false;
    Values answers = {};

    static constexpr auto channels() {
        return stategraph::channels(
            stategraph::channel<&State::input>(), stategraph::channel<&State::data>(),
            stategraph::channel<&State::at>(), stategraph::channel<&State::status>(),
            stategraph::channel<&State::result>(), stategraph::channel<&State::error>(),
            stategraph::channel<&State::records>(stategraph::merge),
            stategraph::channel<&State::items>(stategraph::merge),
            stategraph::channel<&State::shared>(stategraph::merge),
            stategraph::channel<&State::additions>(stategraph::merge),
            stategraph::channel<&State::reduced>(stategraph::append),
            stategraph::channel<&State::context>(stategraph::merge), stategraph::channel<&State::metadata>(),
            stategraph::channel<&State::path>(stategraph::append), stategraph::channel<&State::chosen>(),
            stategraph::channel<&State::is_canceled>(stategraph::max), stategraph::channel<&State::is_single_step>(),
            stategraph::channel<&State::goes_on>(), stategraph::channel<&State::answers>());
    }
};

/// What a step asked, as the question of the interrupt.
struct Suspension {
    std::string step = {};
    Value payload = {};
    std::vector<std::string> labels = {};

    static constexpr auto fields() {
        return stategraph::fields<&Suspension::step, &Suspension::payload, &Suspension::labels>();
    }
};

}  // namespace stategraph::workflow
