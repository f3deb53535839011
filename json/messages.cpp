#include <algorithm>
#include <set>
#include <unordered_map>

#include "json/folds.hpp"

// Lists of messages with ids.
namespace stategraph::detail {
namespace {

constexpr const char* remove_all = "__remove_all__";

const json::string* textAt(const json::object& message, const char* key) {
    const json::value* value = message.if_contains(key);
    return value != nullptr ? value->if_string() : nullptr;
}

std::string_view idOf(const json::value& message) {
    const json::object* entries = message.if_object();
    const json::string* id = entries != nullptr ? textAt(*entries, "id") : nullptr;
    return id != nullptr ? std::string_view(id->data(), id->size()) : std::string_view();
}

// None or null, so that one is made; or of a type that no id has.
bool hasOddId(const json::object& message) {
    const json::value* id = message.if_contains("id");
    return id != nullptr && !id->is_null() && !id->is_string();
}

bool isRemoval(const json::value& message) {
    const json::object* entries = message.if_object();
    const json::string* type = entries != nullptr ? textAt(*entries, "type") : nullptr;
    return type != nullptr && *type == "remove";
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

// One change of the list; backwards they undo it. Room for a change is made before the list is changed: without memory
// for it no message may be lost.
struct Change {
    enum class Kind : std::uint8_t { replaced, added, removed, emptied } kind;
    std::size_t at;
    json::value old;
};
struct Undo {
    std::vector<Change> changes;
};

void takeBack(json::array& items, std::vector<Change>& changes) {
    for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
        switch (change->kind) {
            case Change::Kind::replaced:
                items[change->at] = std::move(change->old);
                break;
            case Change::Kind::added:
                items.pop_back();
                break;
            case Change::Kind::removed:
                items.insert(items.begin() + static_cast<std::ptrdiff_t>(change->at), std::move(change->old));
                break;
            case Change::Kind::emptied:
                items = std::move(change->old.get_array());
                break;
        }
    }
    changes.clear();
}

class Merge {
public:
    /// `gone`: what was removed in this superstep, and may be removed again.
    Merge(json::array& items, std::vector<Change>& changes, std::set<std::string>& gone)
        : items_(items), changes_(changes), gone_(gone) {
        index();
    }

    void take(json::value& message) {
        if (!message.is_object()) {
            throw InvalidUpdateError("a message must be an object, and " + std::string(kindName(message.kind())) +
                                     " was written");
        }
        if (hasOddId(message.get_object())) {
            throw InvalidUpdateError("a message's id must be a string, and " +
                                     std::string(kindName(message.get_object().at("id").kind())) + " was written");
        }
        const std::string id(idOf(message));
        if (isRemoval(message)) {
            remove(id);
        } else if (const auto found = by_id_.find(id); !id.empty() && found != by_id_.end()) {
            makeRoom();
            removed_.erase(found->second);
            changes_.push_back(
                {Change::Kind::replaced, found->second, std::exchange(items_[found->second], std::move(message))});
        } else {
            makeRoom();
            items_.push_back(std::move(message));
            changes_.push_back({Change::Kind::added, items_.size() - 1, nullptr});
            if (!id.empty()) by_id_.emplace(id, items_.size() - 1);
        }
    }

    /// What was named to be removed goes when the whole write has been seen: writing a message again keeps it.
    void close() {
        std::vector<std::size_t> places;
        for (const auto& [at, on] : removed_) places.push_back(at);
        std::sort(places.rbegin(), places.rend());
        for (const std::size_t at : places) {
            gone_.insert(std::string(idOf(items_[at])));
            makeRoom();
            changes_.push_back({Change::Kind::removed, at, std::move(items_[at])});
            items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(at));
        }
        removed_.clear();
    }

private:
    void makeRoom() {
        if (changes_.size() == changes_.capacity()) changes_.reserve(2 * changes_.size() + 4);
    }
    void index() {
        by_id_.clear();
        for (std::size_t i = 0; i < items_.size(); ++i) {
            if (const auto id = idOf(items_[i]); !id.empty()) by_id_.emplace(id, i);
        }
    }
    void remove(const std::string& id) {
        if (id == remove_all) {
            for (const auto& [gone, at] : by_id_) gone_.insert(gone);
            makeRoom();
            changes_.push_back({Change::Kind::emptied, 0, std::exchange(items_, json::array())});
            by_id_.clear();
            removed_.clear();
            return;
        }
        const auto found = by_id_.find(id);
        if (found == by_id_.end()) {
            if (gone_.contains(id)) return;
            throw InvalidUpdateError("a message with the id '" + id + "' is to be removed, and the channel has none");
        }
        removed_.emplace(found->second, true);
    }

    json::array& items_;
    std::vector<Change>& changes_;
    std::unordered_map<std::string, std::size_t> by_id_;
    std::unordered_map<std::size_t, bool> removed_;
    std::set<std::string>& gone_;
};

struct JsonMessagesFold {
    static void fold(const ChannelSpec& channel, JsonSlot& slot, std::span<Op* const> ops, Encoder* log) {
        requireList(channel, slot);
        json::array& items = JsonNodes::own(slot.json).get_array();
        const std::size_t before = items.size();
        Undo undo;
        std::set<std::string> gone;
        try {
            for (Op* op : ops) {
                Merge merge(items, undo.changes, gone);
                forEachMessage(ownWrittenBy(*op), [&](json::value& message) { merge.take(message); });
                merge.close();
            }
            if (log != nullptr) writeLog(channel, slot, before, undo.changes, *log);
            ops.front()->keep(Undo{});
        } catch (...) {
            takeBack(items, undo.changes);
            throw;
        }
        ops.front()->as<Undo>().changes = std::move(undo.changes);
    }

    static void unfold(JsonSlot& slot, std::span<Op* const> ops) {
        takeBack(JsonNodes::own(slot.json).get_array(), ops.front()->as<Undo>().changes);
    }

    // A message without an id gets one that it has again when the task is repeated.
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
                (*entries)["id"] = task.toString() + "-" + std::to_string(index) + "-" + std::to_string(place);
            }
            ++place;
        });
    }

private:
    // Only what was added, where that is all; else the changes in order, which need what each left: so they are logged
    // as the list is now, where a list was emptied or a place changed more than once.
    static void writeLog(const ChannelSpec& channel, const JsonSlot& slot, std::size_t before,
                         const std::vector<Change>& changes, Encoder& log) {
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

    // Replacements and additions came first, at places that removals shifted since.
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
        // The list as it was before the removals: where each place's message is now, or was taken from.
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

}  // namespace

constinit const Behaviour json_messages = makeJsonBehaviour<JsonMessagesFold>();

}  // namespace stategraph::detail
