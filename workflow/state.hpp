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

// The state of every workflow's graph. Records and their words are stored; docs/workflows.md has the rules.
namespace stategraph::workflow {
struct Item;
struct Record;
/// The progress of a step or a run: Record::status and State::status.
enum class Word : std::uint8_t { none, running, waiting, suspended, success, failed, bailed, paused, canceled };
/// Returns the word as it is stored and reported; `none` is the empty text.
const char* toString(Word word) noexcept;
}  // namespace stategraph::workflow
namespace stategraph {
template <>
struct Codec<workflow::Word> {
    static void encode(Encoder& encoder, workflow::Word word);
    static void decode(Decoder& decoder, workflow::Word& word);
};
/// Encodes a record as a map of the members that differ from a new record, because most of them do not.
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
    std::int64_t resumed_ms = 0;  // 0 if it is open
    std::int64_t place = 0;       // among the questions of an execution; of those with the same place the last counts

    static constexpr auto fields() {
        return stategraph::fields<&Asked::payload, &Asked::suspended_ms, &Asked::answer, &Asked::resumed_ms,
                                  &Asked::place>();
    }
    friend bool operator==(const Asked&, const Asked&) = default;
};

/// What a step has set for a key that has a reducer.
struct Addition {
    std::string key = {};
    Value value = {};

    static constexpr auto fields() { return stategraph::fields<&Addition::key, &Addition::value>(); }
    friend bool operator==(const Addition&, const Addition&) = default;
};
using Additions = std::vector<Addition>;

/// What is stored about a step: about its last execution, and what the next one gets.
struct Record {
    /// None means that it has not run, and `pending` waits for it. Running means that it is to be executed again, with
    /// `pending`.
    Word status = Word::none;
    Value payload = {};
    Value output = {};
    std::string error = {};
    bool is_permanent = false;  // whether its failure must not be retried
    Value asked = {};
    std::vector<std::string> labels = {};
    Value resumed = {};   // the last data that it was given
    Value pending = {};   // the data for its next execution
    Values answers = {};  // for a nested workflow: answers to questions below it, by their keys
    Value child = {};     // for a nested workflow: its State
    std::int64_t iteration = 0;
    std::int64_t attempts = 0;
    // In milliseconds since 1970; 0 if it has not happened yet.
    std::int64_t started_ms = 0;
    std::int64_t ended_ms = 0;
    std::vector<Asked> questions = {};  // all of its questions, oldest first
};

/// What the elements of a foreach that are under way share within one process.
struct ForeachLeg {
    std::vector<Value> values;
    std::atomic<bool> is_over = false;  // set if no more elements are to begin
};

/// An element of a foreach on its way to the step.
struct Item {
    std::int64_t index = 0;
    Value value = {};
    /// Exists only in this process; null in a process that resumes what another one left.
    std::shared_ptr<ForeachLeg> leg = {};
    bool is_first = false;  // whether it begins independent of the others; as many begin as may run at the same time
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
    /// The records of the current foreach, by index.
    std::map<std::int64_t, Record> items = {};
    Values shared = {};
    /// The additions of members of the current block, or of elements of the foreach, by their place. They are reduced
    /// in this order when it ends or suspends.
    std::map<std::int64_t, Additions> additions = {};
    /// For a nested workflow: everything that has been reduced since it began or was resumed, for the outer workflow.
    Additions reduced = {};
    /// The context that callers of the run gave, as far as it can be stored. The last caller's values count.
    Values context = {};
    /// The metadata by which the run is listed.
    Values metadata = {};
    /// The steps that were executed, in order.
    std::vector<std::string> path = {};
    /// The chosen members of the current branch.
    std::vector<std::string> chosen = {};
    bool is_canceled = false;
    bool is_single_step = false;
    /// For a nested workflow that is resumed: the answers, by the keys of questions.
    bool goes_on = false;
    Values answers = {};
    /// For a nested workflow: the keys that were set since it began or was resumed, also to the values that they had.
    std::map<std::string, bool> set_keys = {};

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
            stategraph::channel<&State::goes_on>(), stategraph::channel<&State::answers>(),
            stategraph::channel<&State::set_keys>(stategraph::merge));
    }
};

/// What a step asked, stored as the question of the interrupt.
struct Suspension {
    std::string step = {};
    Value payload = {};
    std::vector<std::string> labels = {};

    static constexpr auto fields() {
        return stategraph::fields<&Suspension::step, &Suspension::payload, &Suspension::labels>();
    }
};

}  // namespace stategraph::workflow
