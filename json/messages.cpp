#include <algorithm>

#include <stategraph/detail/message_fold.hpp>

#include "json/folds.hpp"

// Lists of messages with ids.
namespace stategraph::detail {
namespace {

const json::string* textAt(const json::object& message, const char* key) {
    const json::value* value = message.if_contains(key);
    return value != nullptr ? value->if_string() : nullptr;
}

std::string_view idOf(const json::value& message) {
    const json::object* entries = message.if_object();
    const json::string* id = entries != nullptr ? textAt(*entries, "id") : nullptr;
    return id != nullptr ? std::string_view(id->data(), id->size()) : std::string_view();
}

// Returns whether the id is missing or null, so that one is created, or has a type that no id has.
bool hasOddId(const json::object& message) {
    const json::value* id = message.if_contains("id");
    return id != nullptr && !id->is_null() && !id->is_string();
}

// Calls `each` for every message of an operation.
template <class Json, class F>
void forEachMessage(Json& written, F&& each) {
    if (auto* list = written.if_array()) {
        for (auto& message : *list) each(message);
    } else {
        each(written);
    }
}

struct JsonMessages {
    using List = json::array;
    using Change = MessageChange<json::array>;

    static json::array& require(const ChannelSpec& channel, JsonSlot& slot) {
        requireList(channel, slot);
        return list(slot);
    }
    static json::array& list(JsonSlot& slot) { return JsonNodes::own(slot.json).get_array(); }
    static std::string_view id(const json::value& message) { return idOf(message); }
    static bool isRemoval(const json::value& message) {
        const json::string* type = textAt(message.get_object(), "type");
        return type != nullptr && *type == "remove";
    }
    static void check(const json::value& message) {
        if (!message.is_object()) {
            throw InvalidUpdateError("a message must be an object, and " + std::string(kindName(message.kind())) +
                                     " was written");
        }
        if (hasOddId(message.get_object())) {
            throw InvalidUpdateError("a message's id must be a string, and " +
                                     std::string(kindName(message.get_object().at("id").kind())) + " was written");
        }
    }
    static std::size_t count(Op& op) { return JsonNodes::count(writtenBy(op)); }
    template <class F>
    static void forEach(Op& op, F f) {
        forEachMessage(ownWrittenBy(op), f);
    }

    // Logs only what was added, if nothing else changed. Otherwise it logs the changes in order, each of which needs
    // the result of the one before. Therefore the whole list is logged if it was emptied, or if a place changed more
    // than once.
    static void log(const ChannelSpec& channel, const JsonSlot& slot, std::size_t before,
                    const std::vector<Change>& changes, std::span<Op* const>, Encoder& log) {
        const json::array& items = slot.json.get().get_array();
        bool added_only = true;
        bool emptied = false;
        bool removed = false;
        bool changed_after_removal = false;
        for (const Change& change : changes) {
            added_only = added_only && (change.kind == Change::Kind::added ||
                                        (change.kind == Change::Kind::replaced && change.at >= before));
            emptied = emptied || change.kind == Change::Kind::emptied;
            changed_after_removal = changed_after_removal || (removed && change.kind != Change::Kind::removed);
            removed = removed || change.kind == Change::Kind::removed;
        }
        if (emptied || changed_after_removal) return logSet(channel, slot, log);
        if (added_only) {
            writeLoggedOp(log, channel.name, LogOp::append);
            log.array(items.size() - before);
            for (std::size_t i = before; i < items.size(); ++i) Codec<json::value>::encode(log, items[i]);
            return;
        }
        if (removed) return logEdits(channel, items, before, changes, log);
        std::vector<std::size_t> places;
        for (const Change& change : changes) places.push_back(change.at);
        std::sort(places.begin(), places.end());
        places.erase(std::unique(places.begin(), places.end()), places.end());
        writeLoggedOp(log, channel.name, LogOp::edit);
        log.array(places.size());
        for (const std::size_t at : places) logItem(at, items[at], log);
    }

private:
    // Replacements and additions came first, at places that removals have shifted since.
    static void logEdits(const ChannelSpec& channel, const json::array& items, std::size_t before,
                         const std::vector<Change>& changes, Encoder& log) {
        std::size_t size = before;
        std::vector<std::size_t> places;
        std::vector<const Change*> removals;
        for (const Change& change : changes) {
            if (change.kind == Change::Kind::added) ++size;
            if (change.kind == Change::Kind::removed) {
                removals.push_back(&change);
            } else {
                places.push_back(change.at);
            }
        }
        std::sort(places.begin(), places.end());
        places.erase(std::unique(places.begin(), places.end()), places.end());
        // The list before the removals: where each place's message is now, or from where it was taken.
        std::vector<const json::value*> was;
        was.reserve(size);
        for (const json::value& item : items) was.push_back(&item);
        for (auto removal = removals.rbegin(); removal != removals.rend(); ++removal) {
            was.insert(was.begin() + static_cast<std::ptrdiff_t>((*removal)->at), &(*removal)->old);
        }
        writeLoggedOp(log, channel.name, LogOp::edit);
        log.array(places.size() + removals.size());
        for (const std::size_t at : places) logItem(at, *was[at], log);
        for (const Change* removal : removals) {
            log.array(1);
            log.unsignedInteger(removal->at);
        }
    }

    static void logItem(std::size_t at, const json::value& item, Encoder& log) {
        log.array(2);
        log.unsignedInteger(at);
        Codec<json::value>::encode(log, item);
    }
};

struct JsonMessagesFold : MessageFold<JsonSlot, JsonMessages> {
    // Gives a message without an id one that it gets again when the task is repeated.
    static void prepare(const ChannelSpec&, Op& op, const TaskId& task, std::size_t index) {
        if (op.type == nullptr || !op.holds<JsonOperand>()) return;
        bool lacks_id = false;
        forEachMessage(std::as_const(writtenBy(op)).get(), [&](const json::value& message) {
            const json::object* entries = message.if_object();
            lacks_id = lacks_id || (entries != nullptr && idOf(message).empty() && !hasOddId(*entries));
        });
        if (!lacks_id) return;
        std::size_t place = 0;
        forEachMessage(ownWrittenBy(op), [&](json::value& message) {
            if (json::object* entries = message.if_object();
                entries != nullptr && idOf(message).empty() && !hasOddId(*entries)) {
                (*entries)["id"] = messageId(task, index, place);
            }
            ++place;
        });
    }
};

}  // namespace

constinit const Behaviour json_messages = makeJsonBehaviour<JsonMessagesFold>();

}  // namespace stategraph::detail
