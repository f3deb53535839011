#include <algorithm>

#include <stategraph/error.hpp>

#include "workflow/execution.hpp"
#include "workflow/reducing.hpp"

// Executes one step for each element of a list: begins the elements, each by itself, and combines their results.
namespace stategraph {

void Codec<workflow::Item>::encode(Encoder& encoder, const workflow::Item& item) {
    encoder.array(2);
    encoder.integer(item.index);
    Codec<Value>::encode(encoder, item.value);
}

void Codec<workflow::Item>::decode(Decoder& decoder, workflow::Item& item) {
    if (decoder.array() != 2) throw WrongTypeError("an element of a foreach has an index and a value");
    item.index = decoder.integer();
    Codec<Value>::decode(decoder, item.value);
}

}  // namespace stategraph

namespace stategraph::workflow {
namespace {

using Records = std::map<std::string, Record>;  // the records that a foreach's node writes
using Items = std::map<std::int64_t, Record>;

bool isList(const Value& value) { return Decoder(value.bytes()).peek() == Decoder::Type::array; }

const Record* findItem(const State& state, std::size_t index) noexcept {
    const auto found = state.items.find(static_cast<std::int64_t>(index));
    return found == state.items.end() ? nullptr : &found->second;
}
bool hasBegun(const State& state, std::size_t index) noexcept {
    const Record* const item = findItem(state, index);
    return item != nullptr && item->status != Word::none;
}

// Returns the elements that were answered or left, and then those that have not begun.
std::vector<std::size_t> dueOf(const State& state, std::size_t count) {
    std::vector<std::size_t> due;
    for (std::size_t i = 0; i < count; ++i) {
        const Record* const item = findItem(state, i);
        if (item != nullptr && item->status == Word::running) due.push_back(i);
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (!hasBegun(state, i)) due.push_back(i);
    }
    return due;
}

Command<State> endAtOnce(const Plan& plan, const Place& place, const State& state, Records records, Runtime& runtime) {
    Record& record = records.begin()->second;
    record.ended_ms = plan.nowMs();
    Outcome outcome{record.status, record.status == Word::failed ? Value(record.error) : record.output};
    tellStep(runtime, RunEvent::Kind::step_result, place.path, record.status);
    Update<State> update{merge(&State::records, std::move(records)), add<&State::path>(place.step->id)};
    return advance(plan, state, place.entry, std::move(outcome), std::move(update), false);
}

void tellProgress(const Place& place, const Item& item, const Record& record, Runtime& runtime) {
    if (record.status == Word::bailed || !isWatched(runtime)) return;
    tell(runtime, {.kind = RunEvent::Kind::step_progress,
                   .path = place.path,
                   .index = item.index,
                   .status = toString(record.status)});
}

// An answer that time travel brought is for the first element.
Items answeredFirst(const Record* before) {
    Items items;
    if (before != nullptr && before->status == Word::none && !before->pending.isNull())
        items.emplace(0, Record{.pending = before->pending, .answers = before->answers});
    return items;
}

Send sendOf(const Step& step, std::size_t index, const std::shared_ptr<ForeachLeg>& leg, bool is_first) {
    return {itemNodeOf(step.id), Item{static_cast<std::int64_t>(index), leg->values[index], leg, is_first}};
}

bool isAnswered(const State& state, std::size_t index) noexcept {
    const Record* const item = findItem(state, index);
    return item != nullptr && item->status == Word::running;
}

// For elements that run one by one: returns the element after one, with answered ones first, or `count` if there is
// none.
std::size_t nextOf(const State& state, std::size_t count, std::size_t index) {
    std::size_t from = index + 1;
    if (isAnswered(state, index)) {
        for (std::size_t i = from; i < count; ++i) {
            if (isAnswered(state, i)) return i;
        }
        from = 0;
    }
    while (from < count && hasBegun(state, from)) ++from;
    return from;
}

// In a window of one, each element is a superstep of its own, and sees the state that the one before it left.
Targets afterItem(const Plan& plan, const Place& place, const Item& item, bool goes_on, const State& state) {
    const Step& step = *place.step;
    if (!goes_on || plan.entryOf(place).concurrency > 1) return itemsEndOf(step.id);
    auto leg = item.leg;
    if (!leg) {
        leg = std::make_shared<ForeachLeg>();
        leg->values = state.records.at(step.id).payload.as<std::vector<Value>>();
    }
    const std::size_t next = nextOf(state, leg->values.size(), static_cast<std::size_t>(item.index));
    if (next == leg->values.size()) return itemsEndOf(step.id);
    return sendOf(step, next, leg, true);
}

// The outputs become one list, of which each may have its part.
void limitOutput(const Plan& plan, const Place& place, const Item& item, const State& state, Record& record) {
    constexpr std::size_t full_outputs = 8;
    const std::size_t whole = plan.entryOf(place).outputs_bytes_max;
    if (whole == 0 || record.status != Word::success) return;
    const std::size_t count =
        item.leg ? item.leg->values.size() : Decoder(state.records.at(place.step->id).payload.bytes()).array();
    const std::size_t most = std::min(whole, whole / std::max<std::size_t>(count, 1) * full_outputs);
    if (record.output.bytes().size() <= most) return;
    record.status = Word::failed;
    record.error = "the output for element " + std::to_string(item.index) + " of " + std::to_string(count) +
                   " has more than " + std::to_string(most) + " bytes; see workflow::JsonLimits::value_bytes_max";
    record.output = {};
}

Command<State> leaveItem(const Plan& plan, const Place& place, const Item& item, const State& state, Items items,
                         Executed executed) {
    Record& record = items.begin()->second;
    limitOutput(plan, place, item, state, record);
    const bool is_canceled = executed.is_canceled;
    Update<State> update;
    try {
        // In a window of one, each element sees what the one before it has set.
        const bool is_alone = plan.entryOf(place).concurrency == 1;
        putShared(plan, state, std::move(executed), is_alone ? std::nullopt : std::optional(item.index), update);
    } catch (const std::exception& error) {  // thrown by a reducer
        record.status = Word::failed;
        record.error = error.what();
        record.output = {};
    }
    const bool goes_on = record.status == Word::success && !is_canceled;
    if (item.leg && !goes_on) item.leg->is_over.store(true);
    update.with(merge(&State::items, std::move(items)));
    return {.update = std::move(update), .go_to = afterItem(plan, place, item, goes_on, state)};
}

}  // namespace

Command<State> beginForeach(const Plan& plan, const Place& place, const State& state, Runtime& runtime) {
    const Step& step = *place.step;
    const auto before = state.records.find(step.id);
    const bool goes_on = before != state.records.end() && before->second.status == Word::running;
    tellStep(runtime, RunEvent::Kind::step_start, place.path);
    Records records;
    Record& record = records[step.id];
    if (goes_on) {
        record = before->second;
    } else {
        beginRecord(plan, nullptr, state.data, false, record);
    }
    if (!isList(record.payload)) {
        record.status = Word::failed;
        record.error = "foreach needs an array";
        return endAtOnce(plan, place, state, std::move(records), runtime);
    }
    const auto leg = std::make_shared<ForeachLeg>();
    leg->values = record.payload.as<std::vector<Value>>();
    record.status = Word::running;
    if (leg->values.empty()) {
        record.status = Word::success;
        record.output = Value(std::vector<Value>());
        return endAtOnce(plan, place, state, std::move(records), runtime);
    }
    const auto window = static_cast<std::size_t>(plan.entryOf(place).concurrency);
    Targets to;
    State none;
    const std::vector<std::size_t> due = dueOf(goes_on ? state : none, leg->values.size());
    for (std::size_t i = 0; i < due.size() && (window > 1 || i == 0); ++i)
        to.add(sendOf(step, due[i], leg, i < window));
    if (to.empty()) to.add(itemsEndOf(step.id));
    Update<State> update{merge(&State::records, std::move(records))};
    if (!goes_on)
        update.with(overwrite<&State::items>(answeredFirst(before == state.records.end() ? nullptr : &before->second)));
    return {.update = std::move(update), .go_to = std::move(to)};
}

namespace {

bool isLeftOut(const Item& item) noexcept { return item.leg && item.leg->is_over.load() && !item.is_first; }

Items beginItem(const Plan& plan, const Item& item, const State& state) {
    Items items;
    beginRecord(plan, findItem(state, static_cast<std::size_t>(item.index)), item.value, false, items[item.index]);
    return items;
}

Command<State> endItem(const Plan& plan, const Place& place, const Item& item, const State& state, Items items,
                       Executed executed, Runtime& runtime) {
    executed.is_canceled = executed.is_canceled || isCanceled(runtime);
    tellProgress(place, item, items.begin()->second, runtime);
    return leaveItem(plan, place, item, state, std::move(items), std::move(executed));
}

}  // namespace

Command<State> runItem(const Plan& plan, const Place& place, const Item& item, Runtime& runtime) {
    if (isLeftOut(item)) return {.go_to = itemsEndOf(place.step->id)};  // the element has not begun
    const State& state = runtime.state<State>();
    Items items = beginItem(plan, item, state);
    Executed executed = execute(plan, place, items.begin()->second, state, runtime);
    return endItem(plan, place, item, state, std::move(items), std::move(executed), runtime);
}

Task<Command<State>> awaitItem(const Plan& plan, const Place& place, const Item& item, Runtime& runtime) {
    if (isLeftOut(item)) co_return Command<State>{.go_to = itemsEndOf(place.step->id)};
    const State& state = runtime.state<State>();
    Items items = beginItem(plan, item, state);
    Executed executed = co_await awaitExecution(plan, place, items.begin()->second, state, runtime);
    co_return endItem(plan, place, item, state, std::move(items), std::move(executed), runtime);
}

Command<State> itemFailed(const Plan& plan, const Place& place, const Item& item, const NodeFailure& failure,
                          Runtime& runtime) {
    const State& state = runtime.state<State>();
    Items items = beginItem(plan, item, state);
    Record& record = items.begin()->second;
    fail(plan, record, failure);
    tellProgress(place, item, record, runtime);
    return leaveItem(plan, place, item, state, std::move(items), {});
}

namespace {

// Returns the first element that failed, else the first that bailed, else the first that asks, or null.
const Record* endingOf(const Items& items) noexcept {
    const auto rank = [](const Record* item) {
        if (item == nullptr) return 0;
        return item->status == Word::failed ? 3 : item->status == Word::bailed ? 2 : item->status == Word::suspended;
    };
    const Record* ending = nullptr;
    for (const auto& [index, item] : items) {
        if (rank(&item) > rank(ending)) ending = &item;
    }
    return ending;
}

// Returns what the elements returned, in their order.
std::vector<Value> outputsOf(const Items& items, std::size_t count) {
    std::vector<Value> outputs(count);
    for (const auto& [index, item] : items) {
        if (index >= 0 && static_cast<std::size_t>(index) < count)
            outputs[static_cast<std::size_t>(index)] = item.output;
    }
    return outputs;
}

}  // namespace

Command<State> endForeach(const Plan& plan, const Place& place, const State& state, Runtime& runtime) {
    const Step& step = *place.step;
    Update<State> update;
    try {
        reduceAdditions(plan, state, update);
    } catch (const std::exception& error) {
        return advance(plan, state, place.entry, {Word::failed, Value(std::string(error.what()))}, {}, false);
    }
    Records records{*state.records.find(step.id)};
    Record& record = records.begin()->second;
    record.pending = {};
    const Record* const ending = endingOf(state.items);
    if (ending != nullptr && ending->status == Word::suspended) {
        record.status = Word::suspended;
        tellStep(runtime, RunEvent::Kind::step_suspended, place.path, record.status);
        update.with(merge(&State::records, std::move(records)));
        return advance(plan, state, place.entry, {Word::suspended}, std::move(update), false);
    }
    Outcome outcome{Word::success};
    record.status = Word::success;
    if (ending != nullptr) {
        outcome = {ending->status == Word::failed ? Word::failed : Word::bailed,
                   ending->status == Word::failed ? Value(ending->error) : ending->output};
        record.status = ending->status;
        record.error = ending->error;
        record.payload = {};
        record.output = ending->output;
    } else {
        record.output = Value(outputsOf(state.items, record.payload.as<std::vector<Value>>().size()));
        outcome.value = record.output;
    }
    record.ended_ms = plan.nowMs();
    tellStep(runtime, RunEvent::Kind::step_result, place.path, record.status);
    update.with(merge(&State::records, std::move(records)));
    // Time travel to a foreach that has failed executes only the elements that had not succeeded.
    if (outcome.status != Word::failed) update.with(overwrite<&State::items>({}));
    update.with(add<&State::path>(step.id));
    return advance(plan, state, place.entry, std::move(outcome), std::move(update), state.is_canceled);
}

}  // namespace stategraph::workflow
