#include "src/checkpoint/task_fields.hpp"

#include <algorithm>
#include <array>

#include <stategraph/error.hpp>

#include "src/checkpoint/record_frame.hpp"
#include "src/checkpoint/sealed_record.hpp"
#include "src/value/comparisons.hpp"

namespace stategraph::checkpoint {
namespace {

void writeInterrupts(detail::StagedEncoder& out, const std::vector<LoggedInterrupt>& interrupts) {
    out.array(interrupts.size());
    for (const auto& interrupt : interrupts) {
        std::array<char, 16> raw{};
        interrupt.id.toBytes(raw.data());
        out.array(3);
        out.bytes({raw.data(), raw.size()});
        out.unsignedInteger(interrupt.index);
        out.raw(interrupt.value);
    }
}

std::vector<LoggedInterrupt> readInterrupts(Decoder& in) {
    std::vector<LoggedInterrupt> interrupts(in.array());
    for (auto& interrupt : interrupts) {
        if (in.array() != 3) throw WrongTypeError("expected an interrupt of id, index and value");
        const std::string_view raw = in.bytes();
        if (raw.size() != 16) throw WrongTypeError("expected an id of 16 bytes");
        interrupt.id = TaskId::fromBytes(raw.data());
        interrupt.index = in.unsignedInteger();
        interrupt.value = in.raw();
    }
    return interrupts;
}

void writeIds(detail::StagedEncoder& out, const std::vector<CheckpointId>& ids) {
    out.array(ids.size());
    for (const CheckpointId id : ids) {
        std::array<char, 16> raw{};
        id.toBytes(raw.data());
        out.bytes({raw.data(), raw.size()});
    }
}

std::vector<CheckpointId> readIds(Decoder& in) {
    std::vector<CheckpointId> ids(in.array());
    for (CheckpointId& id : ids) {
        const std::string_view raw = in.bytes();
        if (raw.size() != 16) throw WrongTypeError("expected an id of 16 bytes");
        id = CheckpointId::fromBytes(raw.data());
    }
    return ids;
}

void writeEffect(detail::StagedEncoder& out, const LoggedEffect& effect) {
    out.array(effect.result ? 2 : 1);
    out.unsignedInteger(effect.begun);
    if (effect.result) out.raw(*effect.result);
}

bool haveKeys(const std::vector<LoggedInterrupt>& interrupts) noexcept {
    return std::ranges::any_of(interrupts, [](const LoggedInterrupt& each) { return !each.key.empty(); });
}

void writeFailure(detail::StagedEncoder& e, const LoggedFailure& failure) {
    e.array(2);
    e.unsignedInteger(failure.attempts);
    e.text(failure.text);
}

LoggedFailure readFailure(Decoder& in) {
    if (in.array() != 2) throw WrongTypeError("expected a failure of attempts and text");
    LoggedFailure failure;
    failure.attempts = in.unsignedInteger();
    failure.text = in.text();
    return failure;
}

void writeTime(detail::StagedEncoder& e, const LoggedTaskTime& took) {
    e.array(2);
    e.integer(took.start_us);
    e.integer(took.took_us);
}

LoggedTaskTime readTime(Decoder& in) {
    if (in.array() != 2) throw WrongTypeError("expected a beginning and a duration");
    LoggedTaskTime time{.start_us = in.integer(), .took_us = in.integer()};
    if (time.took_us < 0) throw WrongTypeError("expected a duration that is not negative");
    return time;
}

LoggedEffect readEffect(Decoder& in) {
    const std::size_t parts = in.array();
    if (parts < 1 || parts > 2) throw WrongTypeError("expected an effect of count and result");
    LoggedEffect effect{.begun = in.unsignedInteger(), .result = {}};
    if (parts == 2) effect.result = in.raw();
    return effect;
}

}  // namespace

AnsweredQuestions::AnsweredQuestions(const TaskFields& task) {
    answered_.reserve(task.answers.size());
    for (const LoggedInterrupt& answer : task.answers) answered_.emplace_back(answer.id, answer.index);
    std::sort(answered_.begin(), answered_.end());
}

bool AnsweredQuestions::has(const LoggedInterrupt& asked) const noexcept {
    const std::pair wanted(asked.id, asked.index);
    const auto found = std::lower_bound(answered_.begin(), answered_.end(), wanted, [](const auto& a, const auto& b) {
        ++comparisons;
        return a < b;
    });
    return found != answered_.end() && *found == wanted;
}

std::vector<const LoggedInterrupt*> openQuestions(const TaskFields& task) {
    std::vector<const LoggedInterrupt*> open;
    if (task.interrupts.empty()) return open;
    const AnsweredQuestions answered(task);
    for (const LoggedInterrupt& asked : task.interrupts) {
        if (!answered.has(asked)) open.push_back(&asked);
    }
    return open;
}

void writeTask(CheckpointId id, const TaskFields& task, std::string& out) {
    constexpr std::size_t keys_and_numbers = 64;
    const std::size_t result_size = task.effect && task.effect->result ? task.effect->result->size() : 0;
    out.reserve(out.size() + keys_and_numbers + task.node.size() + result_size +
                (task.writes ? task.writes->size() : 0));
    const std::size_t start = openFrame(out, format_version);
    detail::StagedEncoder e(out);
    const bool have_keys = haveKeys(task.interrupts);
    e.map(!task.to.empty() + have_keys + 1 + task.took.has_value() + (task.attempts != 1) + task.error.has_value() +
          !task.sends.empty() + task.effect.has_value() + task.has_failed_since + task.writes.has_value() +
          !task.answers.empty() + task.failure.has_value() + !task.interrupts.empty() + !task.gates.empty());
    if (!task.to.empty()) {
        e.key("to");
        writeNames(e, task.to);
    }
    if (have_keys) {
        e.key("keys");
        e.array(task.interrupts.size());
        for (const LoggedInterrupt& asked : task.interrupts) e.text(asked.key);
    }
    e.key("node");
    e.text(task.node);
    if (task.took) {
        e.key("took");
        writeTime(e, *task.took);
    }
    if (task.error) {
        e.key("error");
        e.text(*task.error);
    }
    if (!task.gates.empty()) {
        e.key("gates");
        writeIds(e, task.gates);
    }
    if (!task.sends.empty()) {
        e.key("sends");
        writeSends(e, task.sends);
    }
    if (task.effect) {
        e.key("effect");
        writeEffect(e, *task.effect);
    }
    if (task.has_failed_since) {
        e.key("failed");
        e.boolean(true);
    }
    if (task.writes) {
        e.key("writes");
        e.raw(*task.writes);
    }
    if (!task.answers.empty()) {
        e.key("answers");
        writeInterrupts(e, task.answers);
    }
    if (task.failure) {
        e.key("failure");
        writeFailure(e, *task.failure);
    }
    if (task.attempts != 1) {
        e.key("attempts");
        e.unsignedInteger(task.attempts);
    }
    if (!task.interrupts.empty()) {
        e.key("interrupts");
        writeInterrupts(e, task.interrupts);
    }
    e.finish();
    closeFrame(id, out, start);
}

TaskFields readTask(const RowKey& key, std::string_view bytes) {
    TaskFields task;
    const std::string_view body = openRecord(key, bytes);
    try {
        Decoder in(body);
        std::vector<std::string_view> keys;
        for (std::size_t fields = in.map(); fields > 0; --fields) {
            const std::string_view field = in.text();
            if (field == "to") {
                task.to = readNames(in);
            } else if (field == "keys") {
                readNames(in, keys);
            } else if (field == "node") {
                task.node = in.text();
            } else if (field == "took") {
                task.took = readTime(in);
            } else if (field == "attempts") {
                task.attempts = in.unsignedInteger();
            } else if (field == "error") {
                task.error = in.text();
            } else if (field == "gates") {
                task.gates = readIds(in);
            } else if (field == "sends") {
                task.sends = readSends(in);
            } else if (field == "effect") {
                task.effect = readEffect(in);
            } else if (field == "failed") {
                task.has_failed_since = in.boolean();
            } else if (field == "writes") {
                task.writes = in.raw();
            } else if (field == "answers") {
                task.answers = readInterrupts(in);
            } else if (field == "failure") {
                task.failure = readFailure(in);
            } else if (field == "interrupts") {
                task.interrupts = readInterrupts(in);
            } else {
                in.skip();
            }
        }
        if (!in.atEnd()) throw WrongTypeError("there are bytes after its end");
        if (task.writes) readWrites(*task.writes);
        if (!keys.empty() && keys.size() != task.interrupts.size())
            throw WrongTypeError("expected a key for each interrupt");
        for (std::size_t i = 0; i < keys.size(); ++i) task.interrupts[i].key = keys[i];
    } catch (const WrongTypeError& error) {
        corrupt(key, error.message());
    }
    return task;
}

}  // namespace stategraph::checkpoint

namespace stategraph {

bool hasOpenInterrupt(const RowKey& key, std::string_view bytes) {
    if (checkpoint::isSealed(bytes)) return checkpoint::readSealedOpen(key, bytes);
    const checkpoint::TaskFields task = checkpoint::readTask(key, bytes);
    return !task.writes && !checkpoint::openQuestions(task).empty();
}

}  // namespace stategraph
