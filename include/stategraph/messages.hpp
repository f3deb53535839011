#pragma once
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/channel.hpp>
#include <stategraph/error.hpp>
#include <stategraph/fields.hpp>

namespace stategraph {

/// One message of a conversation. Your own struct can be used instead, if it has a `std::string id` and `bool
/// isRemoval() const`.
struct Message {
    std::string role = {};
    std::string content = {};
    /// Empty: the library gives it one when it is written, the same in every repetition of the task.
    std::string id = {};

    bool isRemoval() const { return role == "remove"; }
    static constexpr auto fields() {
        return stategraph::fields(field("role", &Message::role), field("content", &Message::content),
                                  field("id", &Message::id, defaulted));
    }
    friend bool operator==(const Message&, const Message&) = default;
};

/// The id that means all messages before the removal.
inline constexpr std::string_view REMOVE_ALL_MESSAGES = "__remove_all__";

/// Written to a channel with `addMessages`, takes the message with this id away. An id that is not there is an
/// InvalidUpdateError.
inline Message removeMessage(std::string id) { return {.role = "remove", .content = {}, .id = std::move(id)}; }

namespace detail {

/// Each written message replaces the one that has its id, or comes last.
template <class T>
struct MessagesFold : AppendFold<T> {
    using Item = typename T::value_type;
    struct Undo {
        T before;
    };

    static void fold(const ChannelSpec& channel, T& value, std::span<Op* const> ops, Encoder* log) {
        if (onlyAppends(value, ops)) {
            AppendFold<T>::fold(channel, value, ops, log);
            return;
        }
        Undo undo{value};
        try {
            Removals removals;
            for (Op* op : ops) {
                forEach(*op, [&](const Item& item) { put(channel, value, item, removals); });
                removals.close(value);
            }
            if (log) logEdits(channel, undo.before, value, *log);
            ops.front()->keep(Undo{});
        } catch (...) {
            value = std::move(undo.before);
            throw;
        }
        ops.front()->template as<Undo>().before = std::move(undo.before);
    }

    static void unfold(T& value, std::span<Op* const> ops) {
        if (ops.front()->template holds<Undo>()) {
            value = std::move(ops.front()->template as<Undo>().before);
        } else {
            AppendFold<T>::unfold(value, ops);
        }
    }

    static void prepare(const ChannelSpec&, Op& op, const TaskId& task, std::size_t index) {
        if (op.kind == WriteKind::clear) return;
        const auto giveId = [&](Item& item, std::size_t number) {
            std::string id = task.toString() + "-" + std::to_string(index) + "-" + std::to_string(number);
            Opened<Item>::change(item, [&id](auto& message) { message.id = std::move(id); });
        };
        if (op.is_item) {
            if (read(op.as<Item>()).id.empty()) giveId(op.as<Item>(), 0);
            return;
        }
        T& list = op.as<T>();
        std::size_t number = 0;
        if constexpr (ChangesItems<T>) {
            for (; number < list.size(); ++number) {
                if (read(list[number]).id.empty()) list.edit(number, [&](Item& item) { giveId(item, number); });
            }
        } else {
            for (Item& item : list) {
                if (read(item).id.empty()) giveId(item, number);
                ++number;
            }
        }
    }

private:
    static const auto& read(const Item& item) { return Opened<Item>::read(item); }
    template <class F>
    static void forEach(Op& op, F f) {
        if (op.is_item) {
            f(op.as<Item>());
        } else {
            for (const Item& item : std::as_const(op.as<T>())) f(item);
        }
    }
    static std::size_t find(const T& value, std::string_view id) {
        std::size_t at = 0;
        for (const Item& item : value) {
            if (read(item).id == id) return at;
            ++at;
        }
        return at;
    }
    static bool onlyAppends(const T& value, std::span<Op* const> ops) {
        const auto isNew = [&](const Item& item) {
            return !read(item).isRemoval() && find(value, read(item).id) == value.size();
        };
        if (ops.size() == 1 && ops.front()->is_item) return isNew(ops.front()->as<Item>());  // as nearly always
        std::vector<std::string_view> seen;
        bool simple = true;
        for (Op* op : ops) {
            forEach(*op, [&](const Item& item) {
                if (!simple) return;
                simple = isNew(item);
                for (const auto other : seen) simple = simple && other != read(item).id;
                seen.push_back(read(item).id);
            });
        }
        return simple;
    }
    // What a write removes goes when all of it has been seen: writing a message again keeps it, in its place. What is
    // gone already in this superstep may be removed again.
    struct Removals {
        std::vector<std::string> pending = {};
        std::vector<std::string> gone = {};

        static bool has(const std::vector<std::string>& ids, const std::string& id) {
            for (const std::string& each : ids) {
                if (each == id) return true;
            }
            return false;
        }
        void close(T& value) {
            for (std::string& id : pending) {
                value.erase(std::next(value.begin(), static_cast<std::ptrdiff_t>(find(value, id))));
                gone.push_back(std::move(id));
            }
            pending.clear();
        }
    };
    static void put(const ChannelSpec& channel, T& value, const Item& item, Removals& removals) {
        const auto& message = read(item);
        if (message.isRemoval() && message.id == REMOVE_ALL_MESSAGES) {
            for (const Item& old : value) removals.gone.push_back(read(old).id);
            value.clear();
            removals.pending.clear();
            return;
        }
        const std::size_t at = find(value, message.id);
        if (!message.isRemoval()) {
            if (at == value.size()) {
                value.push_back(item);
            } else {
                replaceItem(value, at, item);
                std::erase(removals.pending, message.id);
            }
        } else if (at < value.size()) {
            if (!Removals::has(removals.pending, message.id)) removals.pending.push_back(message.id);
        } else if (!Removals::has(removals.gone, message.id)) {
            throw InvalidUpdateError("there is no message with the id '" + message.id + "' to remove",
                                     {.channel = channel.name});
        }
    }
    // As edits from the old list to the new: an element that is gone is erased, one that differs replaced, the rest
    // appended.
    static void logEdits(const ChannelSpec& channel, const T& before, const T& after, Encoder& log) {
        std::string edits;
        Encoder out(edits);
        std::size_t count = 0;
        std::size_t at = 0;
        auto now = after.begin();
        for (const Item& old : before) {
            if (now != after.end() && read(*now).id == read(old).id) {
                if (&read(*now) != &read(old) && encoded(*now) != encoded(old)) {
                    out.array(2);
                    out.unsignedInteger(at);
                    encodeItem(out, *now);
                    ++count;
                }
                ++now;
                ++at;
            } else {
                out.array(1);
                out.unsignedInteger(at);
                ++count;
            }
        }
        for (; now != after.end(); ++now, ++at, ++count) {
            out.array(2);
            out.unsignedInteger(at);
            encodeItem(out, *now);
        }
        writeLoggedOp(log, channel.name, LogOp::edit);
        log.array(count);
        log.raw(edits);
    }
    static std::string encoded(const Item& item) {
        std::string cbor;
        Encoder out(cbor);
        encodeItem(out, item);
        return cbor;
    }
};

// Compiled once, with the library.
template <>
struct BehaviourOf<std::vector<Message>, MessagesFold<std::vector<Message>>> {
    static const Behaviour behaviour;
};

}  // namespace detail

namespace reducers {

/// A list of messages by id: see `addMessages`.
struct Messages : Reduced {
    static constexpr std::string_view name = "messages";
    template <class T>
    using Fold = detail::MessagesFold<T>;
    template <class T>
    static constexpr bool fits = List<T> && requires(const typename detail::Opened<typename T::value_type>::Type& m) {
        { m.id } -> std::convertible_to<std::string_view>;
        { m.isRemoval() } -> std::convertible_to<bool>;
    };
    template <class T>
    static consteval void check() {
        static_assert(fits<T>,
                      "stategraph: sg::addMessages needs a list of structs with an `id` and an `isRemoval()`, such as "
                      "std::vector<sg::Message>");
    }
};

}  // namespace reducers

/// The reducer of a conversation. A written message replaces the one with the same id, or comes last; a removal removes
/// it, and a removal with REMOVE_ALL_MESSAGES removes all messages before it. Commits store the edits. Cost: a scan
/// over the ids for each written message.
inline constexpr reducers::Messages addMessages{};

}  // namespace stategraph
