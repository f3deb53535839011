#include <algorithm>

#include <stategraph/error.hpp>

#include "workflow/execution.hpp"

// One step for each element of a list: its elements begin, each by itself, and are put together.
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

const Step& stepOf(const Plan& plan, std::size_t entry) { return plan.definition.entries[entry].steps.front(); }

bool isList(const Value& value) { return Decoder(value.bytes()).peek() == Decoder::Type::array; }

const Record* findItem(const State& state, std::size_t index) noexcept {
    const auto found = state.items.find(std::to_string(index));
    return found == state.items.end() ? nullptr : &found->second;
}
bool hasBegun(const State& state, std::size_t index) noexcept {
    const Record* const item = findItem(state, index);
    return item != nullptr && !item->status.empty();
}

// Those that were answered, or left, and then those that have not begun.
std::vector<std::size_t> dueOf(const State& state, std::size_t count) {
    std::vector<std::size_t> due;
    for (std::size_t i = 0; i < count; ++i) {
        const Record* const item = findItem(state, i);
        if (item != nullptr && item->status == word::RUNNING) due.push_back(i);
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (!hasBegun(state, i)) due.push_back(i);
    }
    return due;
}

Command<State> endAtOnce(const Plan& plan, std::size_t entry, const State& state, Record record, Runtime& runtime) {
    record.ended_ms = plan.nowMs();
    const bool failed = record.status == word::FAILED;
    Outcome outcome{failed ? word::FAILED : word::SUCCESS, failed ? Value(record.error) : record.output};
    const std::string& id = stepOf(plan, entry).id;
    tell(runtime, {.kind = RunEvent::Kind::step_result, .path = pathOf(plan, id), .status = record.status});
    Update<State> update{merge(&State::records, {{id, std::move(record)}}), add<&State::path>(id)};
    return advance(plan, state, entry, std::move(outcome), std::move(update), false);
}

void tellProgress(const Plan& plan, const Step& step, const Item& item, const Record& record, Runtime& runtime) {
    if (record.status == word::BAILED || !isWatched(runtime)) return;
    tell(runtime, {.kind = RunEvent::Kind::step_progress,
                   .path = pathOf(plan, step.id),
                   .index = item.index,
                   .status = record.status});
}

// An answer that time travel brought is for the first element.
std::map<std::string, Record> answeredFirst(const Record* before) {
    std::map<std::string, Record> items;
    if (before != nullptr && before->status.empty() && !before->pending.isNull())
        items.emplace("0", Record{.pending = before->pending});
    return items;
}

Send sendOf(const Step& step, std::size_t index, const std::shared_ptr<ForeachLeg>& leg, bool is_first) {
    return {itemNodeOf(step.id), Item{static_cast<std::int64_t>(index), leg->values[index], leg, is_first}};
}

bool isAnswered(const State& state, std::size_t index) noexcept {
    const Record* const item = findItem(state, index);
    return item != nullptr && item->status == word::RUNNING;
}

// Of elements that run one by one: which comes after one, answered ones first; `count` if none does.
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

// In a window of one each element is a superstep of its own, and sees the state that the one before it left.
Targets afterItem(const Plan& plan, const Step& step, const Item& item, bool goes_on, const State& state) {
    const std::size_t entry = plan.places.find(step.id)->second;
    if (!goes_on || plan.definition.entries[entry].concurrency > 1) return itemsEndOf(step.id);
    auto leg = item.leg;
    if (!leg) {
        leg = std::make_shared<ForeachLeg>();
        leg->values = state.records.at(step.id).payload.as<std::vector<Value>>();
    }
    const std::size_t next = nextOf(state, leg->values.size(), static_cast<std::size_t>(item.index));
    if (next == leg->values.size()) return itemsEndOf(step.id);
    return sendOf(step, next, leg, true);
}

Command<State> leaveItem(const Plan& plan, const Step& step, const Item& item, const State& state, Executed executed) {
    const bool goes_on = executed.record.status == word::SUCCESS && !executed.is_canceled;
    if (item.leg && !goes_on) item.leg->is_over.store(true);
    Update<State> update{merge(&State::items, {{std::to_string(item.index), std::move(executed.record)}})};
    if (!executed.shared.empty()) update.with(merge(&State::shared, std::move(executed.shared)));
    if (executed.is_canceled) update.with(add<&State::is_canceled>(true));
    return {.update = std::move(update), .go_to = afterItem(plan, step, item, goes_on, state)};
}

}  // namespace

Command<State> beginForeach(const Plan& plan, std::size_t entry, const State& state, Runtime& runtime) {
    const Step& step = stepOf(plan, entry);
    const auto before = state.records.find(step.id);
    const bool goes_on = before != state.records.end() && before->second.status == word::RUNNING;
    tell(runtime, {.kind = RunEvent::Kind::step_start, .path = pathOf(plan, step.id)});
    Record record = goes_on ? before->second : beginRecord(plan, nullptr, state.data, false);
    if (!isList(record.payload)) {
        record.status = word::FAILED;
        record.error = "foreach needs an array";
        return endAtOnce(plan, entry, state, std::move(record), runtime);
    }
    const auto leg = std::make_shared<ForeachLeg>();
    leg->values = record.payload.as<std::vector<Value>>();
    record.status = word::RUNNING;
    if (leg->values.empty()) {
        record.status = word::SUCCESS;
        record.output = Value(std::vector<Value>());
        return endAtOnce(plan, entry, state, std::move(record), runtime);
    }
    const auto window = static_cast<std::size_t>(plan.definition.entries[entry].concurrency);
    Targets to;
    State none;
    const std::vector<std::size_t> due = dueOf(goes_on ? state : none, leg->values.size());
    for (std::size_t i = 0; i < due.size() && (window > 1 || i == 0); ++i)
        to.add(sendOf(step, due[i], leg, i < window));
    if (to.empty()) to.add(itemsEndOf(step.id));
    Update<State> update{merge(&State::records, {{step.id, std::move(record)}})};
    if (!goes_on)
        update.with(overwrite<&State::items>(answeredFirst(before == state.records.end() ? nullptr : &before->second)));
    return {.update = std::move(update), .go_to = std::move(to)};
}

Command<State> runItem(const Plan& plan, const Step& step, const Item& item, Runtime& runtime) {
    if (item.leg && item.leg->is_over.load() && !item.is_first)
        return {.go_to = itemsEndOf(step.id)};  // it has not begun
    const State& state = runtime.state<State>();
    Record record = beginRecord(plan, findItem(state, static_cast<std::size_t>(item.index)), item.value, false);
    Executed executed = execute(plan, step, std::move(record), state, runtime);
    executed.is_canceled = executed.is_canceled || isCanceled(runtime);
    tellProgress(plan, step, item, executed.record, runtime);
    return leaveItem(plan, step, item, state, std::move(executed));
}

Command<State> itemFailed(const Plan& plan, const Step& step, const Item& item, const NodeFailure& failure,
                          Runtime& runtime) {
    const State& state = runtime.state<State>();
    Record begun = beginRecord(plan, findItem(state, static_cast<std::size_t>(item.index)), item.value, false);
    Executed executed{.record = failedRecord(plan, std::move(begun), failure), .shared = {}};
    tellProgress(plan, step, item, executed.record, runtime);
    return leaveItem(plan, step, item, state, std::move(executed));
}

Command<State> endForeach(const Plan& plan, std::size_t entry, const State& state, Runtime& runtime) {
    const Step& step = stepOf(plan, entry);
    Record record = state.records.at(step.id);
    const auto count = record.payload.as<std::vector<Value>>().size();
    record.pending = {};
    const Record* ending = nullptr;
    for (const char* status : {word::FAILED, word::BAILED, word::SUSPENDED}) {
        for (std::size_t i = 0; i < count && ending == nullptr; ++i) {
            const Record* const item = findItem(state, i);
            if (item != nullptr && item->status == status) ending = item;
        }
    }
    if (ending != nullptr && ending->status == word::SUSPENDED) {
        record.status = word::SUSPENDED;
        tell(runtime, {.kind = RunEvent::Kind::step_suspended, .path = pathOf(plan, step.id), .status = record.status});
        return advance(plan, state, entry, {word::SUSPENDED}, {merge(&State::records, {{step.id, std::move(record)}})},
                       false);
    }
    Outcome outcome{word::SUCCESS};
    record.status = word::SUCCESS;
    if (ending != nullptr) {
        outcome = {ending->status == word::FAILED ? word::FAILED : word::BAILED,
                   ending->status == word::FAILED ? Value(ending->error) : ending->output};
        record.status = ending->status;
        record.error = ending->error;
        record.payload = {};
        record.output = ending->output;
    } else {
        std::vector<Value> outputs;
        outputs.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            const Record* const item = findItem(state, i);
            outputs.push_back(item != nullptr ? item->output : Value());
        }
        record.output = Value(outputs);
        outcome.value = record.output;
    }
    record.ended_ms = plan.nowMs();
    tell(runtime, {.kind = RunEvent::Kind::step_result, .path = pathOf(plan, step.id), .status = record.status});
    Update<State> update{merge(&State::records, {{step.id, std::move(record)}}), overwrite<&State::items>({}),
                         add<&State::path>(step.id)};
    return advance(plan, state, entry, std::move(outcome), std::move(update), state.is_canceled);
}

}  // namespace stategraph::workflow
