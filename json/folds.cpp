#include "json/folds.hpp"

namespace stategraph::detail {
namespace {

struct JsonReplace {
    static void fold(const ChannelSpec& channel, JsonSlot& slot, std::span<Op* const> ops, Encoder* log) {
        std::swap(slot, ops.back()->as<JsonOperand>().slot);
        if (log != nullptr) logSet(channel, slot, *log);
    }
    static void unfold(JsonSlot& slot, std::span<Op* const> ops) {
        std::swap(slot, ops.back()->as<JsonOperand>().slot);
    }
};

// Moves what was written to the end: the elements of a list, or any other value as one.
void addWritten(json::array& items, json::value& written) {
    if (json::array* list = written.if_array()) {
        for (json::value& item : *list) items.push_back(std::move(item));
    } else {
        items.push_back(std::move(written));
    }
}

std::size_t countWritten(std::span<Op* const> ops) {
    std::size_t count = 0;
    for (Op* op : ops) {
        const json::array* list = writtenBy(op).if_array();
        count += list != nullptr ? list->size() : 1;
    }
    return count;
}

struct JsonAppend {
    static void fold(const ChannelSpec& channel, JsonSlot& slot, std::span<Op* const> ops, Encoder* log) {
        json::array& items = requireArray(channel, slot);
        const std::size_t before = items.size();
        items.reserve(before + countWritten(ops));  // nothing can fail after this
        for (Op* op : ops) addWritten(items, writtenBy(op));
        if (log == nullptr) return;
        writeLoggedOp(*log, channel.name, LogOp::append);
        encodeTail(channel, &slot, before, *log);
    }
    // A list that was moved from still has its length, and what was one value is none.
    static void unfold(JsonSlot& slot, std::span<Op* const> ops) {
        json::array& items = slot.value.get_array();
        items.resize(items.size() - countWritten(ops));
    }
    static std::size_t length(const void* place) {
        const json::array* items = static_cast<const JsonSlot*>(place)->value.if_array();
        return items != nullptr ? items->size() : 0;
    }
    static void encodeTail(const ChannelSpec&, const void* place, std::size_t from, Encoder& out) {
        const json::array& items = static_cast<const JsonSlot*>(place)->value.get_array();
        out.array(items.size() - from);
        for (std::size_t i = from; i < items.size(); ++i) Codec<json::value>::encode(out, items[i]);
    }
};

// Each superstep's list is new; the first op keeps the old one.
struct JsonTopic {
    static void fold(const ChannelSpec& channel, JsonSlot& slot, std::span<Op* const> ops, Encoder* log) {
        json::array items;
        items.reserve(countWritten(ops));
        for (Op* op : ops) addWritten(items, writtenBy(op));
        ops.front()->keep(JsonSlot{std::move(items), true});
        std::swap(slot, ops.front()->as<JsonSlot>());
        if (log != nullptr) logSet(channel, slot, *log);
    }
    static void unfold(JsonSlot& slot, std::span<Op* const> ops) { slot = std::move(ops.front()->as<JsonSlot>()); }
};

// The first op keeps what the merge replaced and added.
struct JsonMerge {
    struct Undo {
        json::object replaced;
        std::vector<std::string> added;
    };

    static void fold(const ChannelSpec& channel, JsonSlot& slot, std::span<Op* const> ops, Encoder* log) {
        json::object& held = requireObject(channel, slot.value, "what the channel holds");
        for (Op* op : ops) requireObject(channel, writtenBy(op), "what was written");
        json::object changed = std::move(writtenBy(ops.front()).get_object());
        for (Op* op : ops.subspan(1)) {
            for (auto& entry : writtenBy(op).get_object())
                changed.insert_or_assign(entry.key(), std::move(entry.value()));
        }
        if (log != nullptr) {
            writeLoggedOp(*log, channel.name, LogOp::put);
            Codec<json::object>::encode(*log, changed);
        }
        ops.front()->keep(Undo{});
        Undo& undo = ops.front()->as<Undo>();
        try {
            for (auto& entry : changed) {
                const auto found = held.find(entry.key());
                if (found == held.end()) {
                    undo.added.emplace_back(entry.key());
                    held.emplace(entry.key(), std::move(entry.value()));
                } else {
                    // Into its place first: what is replaced is not lost if there is no memory for that.
                    undo.replaced.emplace(entry.key(), std::move(entry.value())).first->value().swap(found->value());
                }
            }
        } catch (...) {
            unfold(slot, ops);
            throw;
        }
    }
    static void unfold(JsonSlot& slot, std::span<Op* const> ops) {
        Undo& undo = ops.front()->as<Undo>();
        json::object& held = slot.value.get_object();
        for (auto key = undo.added.rbegin(); key != undo.added.rend(); ++key) held.erase(*key);
        for (auto& entry : undo.replaced) held.insert_or_assign(entry.key(), std::move(entry.value()));
    }
};

// Each op keeps the value before it.
struct JsonBinary {
    static void fold(const ChannelSpec& channel, JsonSlot& slot, std::span<Op* const> ops, Encoder* log) {
        const auto& reduce = *static_cast<const JsonReducer::Function*>(channel.context.get());
        std::size_t done = 0;
        try {
            for (; done < ops.size(); ++done) {
                json::value& written = writtenBy(ops[done]);
                json::value next = ownJson(reduce(std::as_const(slot.value), std::as_const(written)));
                written = std::exchange(slot.value, std::move(next));
            }
        } catch (...) {
            unfold(slot, ops.first(done));
            throw;
        }
        if (log != nullptr) logSet(channel, slot, *log);
    }
    static void unfold(JsonSlot& slot, std::span<Op* const> ops) {
        for (auto op = ops.rbegin(); op != ops.rend(); ++op) slot.value = std::move(writtenBy(*op));
    }
};

}  // namespace

constinit const Behaviour json_replace = JsonBehaviour<JsonReplace>::make();
constinit const Behaviour json_append = JsonBehaviour<JsonAppend>::make();
constinit const Behaviour json_topic = JsonBehaviour<JsonTopic>::make();
constinit const Behaviour json_merge = JsonBehaviour<JsonMerge>::make();
constinit const Behaviour json_binary = JsonBehaviour<JsonBinary>::make();

}  // namespace stategraph::detail
