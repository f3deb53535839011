#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <stategraph/channel.hpp>
#include <stategraph/detail/message_fold.hpp>
#include <stategraph/fields.hpp>

namespace stategraph {

/// One message of a conversation. Your own struct can be used instead, if it has a `std::string id` and `bool
/// isRemoval() const`. It may have amendments, which change a part of the message with their id: `bool isAmendment()
/// const` and `void amend(T& message) const`.
struct Message {
    std::string role = {};
    std::string content = {};
    /// If empty, the library assigns an id when the message is written: the same in every repetition of the task.
    std::string id = {};

    bool isRemoval() const { return role == "remove"; }
    static constexpr auto fields() {
        return stategraph::fields(field("role", &Message::role), field("content", &Message::content),
                                  field("id", &Message::id, defaulted));
    }
    friend bool operator==(const Message&, const Message&) = default;
};

/// The id that means all messages before the removal.
inline constexpr std::string_view REMOVE_ALL_MESSAGES = detail::remove_all_messages;

/// Removes the message with this id when it is written to a channel with `addMessages`. An unknown id is an
/// InvalidUpdateError.
inline Message removeMessage(std::string id) { return {.role = "remove", .content = {}, .id = std::move(id)}; }

namespace detail {

/// Access to messages that are structs.
template <class T>
struct PlainMessages {
    using List = T;
    using Item = typename T::value_type;
    using Change = MessageChange<T>;

    static T& require(const ChannelSpec&, T& value) noexcept { return value; }
    static T& list(T& value) noexcept { return value; }
    static const auto& read(const Item& item) { return Opened<Item>::read(item); }
    static std::string_view id(const Item& item) { return read(item).id; }
    static bool isRemoval(const Item& item) { return read(item).isRemoval(); }
    static bool isAmendment(const Item& item) {
        if constexpr (requires { read(item).isAmendment(); }) {
            return read(item).isAmendment();
        } else {
            return false;
        }
    }
    static void amend(Item& amendment, const Item& old) {
        if constexpr (requires { read(amendment).isAmendment(); }) {
            Item made = old;
            Opened<Item>::change(made, [&](auto& message) { read(amendment).amend(message); });
            amendment = std::move(made);
        }
    }
    static void check(const Item&) noexcept {}
    static std::size_t count(Op& op) { return op.is_item ? 1 : op.as<T>().size(); }
    template <class F>
    static void forEach(Op& op, F f) {
        if (op.is_item) {
            f(op.as<Item>());
        } else if constexpr (ChangesItems<T>) {
            for (const Item& item : std::as_const(op.as<T>())) {
                Item copy = item;
                f(copy);
            }
        } else {
            for (Item& item : op.as<T>()) f(item);
        }
    }
    static void log(const ChannelSpec& channel, const T& value, std::size_t before, const std::vector<Change>& changes,
                    std::span<Op* const> ops, Encoder& log) {
        for (const Change& change : changes) {
            if (change.kind != Change::Kind::added) return logEdits(channel, listBefore(value, changes), value, log);
        }
        AppendFold<T>::logAppended(channel, value, before, ops, log);
    }

private:
    static std::vector<const Item*> listBefore(const T& after, const std::vector<Change>& changes) {
        std::vector<const Item*> was;
        const auto set = [&was](const T& list) {
            was.clear();
            for (const Item& item : list) was.push_back(&item);
        };
        set(after);
        for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
            switch (change->kind) {
                case Change::Kind::replaced:
                    was[change->at] = &change->old;
                    break;
                case Change::Kind::added:
                    was.pop_back();
                    break;
                case Change::Kind::removed:
                    was.insert(was.begin() + static_cast<std::ptrdiff_t>(change->at), &change->old);
                    break;
                case Change::Kind::emptied:
                    set(change->all);
                    break;
            }
        }
        return was;
    }
    // Logs the edits from the old list to the new one: a removed element is erased, a different one is replaced, the
    // rest are appended.
    static void logEdits(const ChannelSpec& channel, const std::vector<const Item*>& before, const T& after,
                         Encoder& log) {
        std::string edits;
        Encoder out(edits);
        std::size_t count = 0;
        std::size_t at = 0;
        auto now = after.begin();
        const auto put = [&] {
            out.array(2);
            out.unsignedInteger(at);
            encodeItem(out, *now);
            ++count;
        };
        for (const Item* old : before) {
            if (now != after.end() && id(*now) == id(*old)) {
                if (&read(*now) != &read(*old) && encoded(*now) != encoded(*old)) put();
                ++now;
                ++at;
            } else {
                out.array(1);
                out.unsignedInteger(at);
                ++count;
            }
        }
        for (; now != after.end(); ++now, ++at) put();
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

/// MessageFold with a short path for the most frequent superstep: one message that the list does not have is appended.
template <class T>
struct MessagesFold : AppendFold<T> {
    using Access = PlainMessages<T>;
    using Fold = MessageFold<T, Access>;
    using Item = typename T::value_type;

    static void fold(const ChannelSpec& channel, T& value, std::span<Op* const> ops, Encoder* log) {
        if (isAppended(value, ops)) {
            AppendFold<T>::fold(channel, value, ops, log);
        } else {
            Fold::fold(channel, value, ops, log);
        }
    }
    static void unfold(T& value, std::span<Op* const> ops) {
        if (ops.front()->template holds<typename Fold::Undo>()) {
            Fold::unfold(value, ops);
        } else {
            AppendFold<T>::unfold(value, ops);
        }
    }

    static void prepare(const ChannelSpec&, Op& op, const TaskId& task, std::size_t index) {
        if (op.kind == WriteKind::clear) return;
        const auto giveId = [&](Item& item, std::size_t number) {
            std::string id = messageId(task, index, number);
            Opened<Item>::change(item, [&id](auto& message) { message.id = std::move(id); });
        };
        if (op.is_item) {
            if (Access::id(op.as<Item>()).empty()) giveId(op.as<Item>(), 0);
            return;
        }
        T& list = op.as<T>();
        std::size_t number = 0;
        if constexpr (ChangesItems<T>) {
            for (; number < list.size(); ++number) {
                if (Access::id(list[number]).empty()) list.edit(number, [&](Item& item) { giveId(item, number); });
            }
        } else {
            for (Item& item : list) {
                if (Access::id(item).empty()) giveId(item, number);
                ++number;
            }
        }
    }

private:
    static bool isAppended(const T& value, std::span<Op* const> ops) {
        if (ops.size() != 1 || !ops.front()->is_item) return false;
        const Item& item = ops.front()->as<Item>();
        if (Access::isRemoval(item) || Access::isAmendment(item)) return false;
        const std::string_view id = Access::id(item);
        for (const Item& held : value) {
            if (isSameId(Access::id(held), id)) return false;
        }
        return true;
    }
};

// Compiled once, with the library.
template <>
struct BehaviourOf<std::vector<Message>, MessagesFold<std::vector<Message>>> {
    static const Behaviour behaviour;
};

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
}  // namespace detail

/// The reducer of a conversation. A written message replaces the one with the same id, or is added at the end; a
/// removal removes its message, and a removal of REMOVE_ALL_MESSAGES removes all messages before it. Commits store the
/// edits. Cost: a scan over the ids for each written message, or a single scan for a write of more than 16 messages.
inline constexpr detail::reducers::Messages addMessages{};

}  // namespace stategraph
