#pragma once
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <stategraph/detail/behaviours.hpp>
#include <stategraph/detail/owned.hpp>
#include <stategraph/error.hpp>

// The reducer of conversations, for states that are structs (messages.hpp) and for those of JSON (json/messages.cpp).
namespace stategraph::detail {

inline constexpr std::string_view remove_all_messages = "__remove_all__";

/// Compares ids as == does, but from the end, because ids more often have a common beginning than a common end.
inline bool isSameId(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return false;
    return a.empty() || (a.back() == b.back() && std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// The positions of messages by id. It is used for writes of so many messages that searching the list for each one
/// would take longer.
class MessageIndex {
public:
    /// Writes of up to this many messages search the list.
    static constexpr std::size_t writes_max = 16;

    MessageIndex() noexcept;
    ~MessageIndex();
    /// The first message with an id stays. An empty id counts as none. The first call allocates the index.
    void add(std::string_view id, std::size_t at);
    std::size_t find(std::string_view id, std::size_t otherwise) const;
    void clear() noexcept;

private:
    struct Impl;
    Owned<Impl> impl_;  // null until something is added
};

/// What a merge removes: the positions that are to be removed at the end of the write, and the ids that are gone
/// already. Its functions, and its vectors, are in the library, because a template's types that do not depend on its
/// arguments cost each file that includes it.
class MessageRemovals {
public:
    MessageRemovals() noexcept;
    ~MessageRemovals();
    /// Does nothing if the position is marked.
    void mark(std::size_t at);
    void unmark(std::size_t at) noexcept;
    void clearMarks() noexcept;
    /// Takes the last position, so that removing it does not move the others. Returns false if there is none.
    bool takeMarked(std::size_t& at) noexcept;

    void addGone(std::string_view id);
    bool isGone(std::string_view id) const noexcept;

private:
    struct Impl;
    Impl& impl();
    Owned<Impl> impl_;  // null until something is removed
};

/// One change of a list of messages.
template <class List>
struct MessageChange {
    enum class Kind : std::uint8_t { replaced, added, removed, emptied } kind;
    std::size_t at = 0;
    typename List::value_type old = {};
    List all = {};  // the messages that existed before the list was emptied
};
template <class List>
typename List::value_type takeOut(List& items, std::size_t at) {
    if constexpr (ChangesItems<List>) {
        return items[at];
    } else {
        return std::move(*std::next(items.begin(), static_cast<std::ptrdiff_t>(at)));
    }
}

/// Undoes what a merge did to a list. It allocates no memory: for a list whose elements may be shared, it holds a copy
/// of the former list, because putting elements back would allocate.
template <class List>
struct MessageUndo {
    struct Nothing {};
    using Kind = typename MessageChange<List>::Kind;
    std::vector<MessageChange<List>> changes = {};
    std::conditional_t<ChangesItems<List>, List, Nothing> before = {};

    void apply(List& items) {
        if constexpr (ChangesItems<List>) {
            items = std::move(before);
        } else {
            for (auto change = changes.rbegin(); change != changes.rend(); ++change) takeBack(items, *change);
        }
        changes.clear();
    }

private:
    static void takeBack(List& items, MessageChange<List>& change) {
        const auto place = [&] { return std::next(items.begin(), static_cast<std::ptrdiff_t>(change.at)); };
        switch (change.kind) {
            case Kind::replaced:
                *place() = std::move(change.old);
                break;
            case Kind::added:
                items.erase(place());
                break;
            case Kind::removed:
                items.insert(place(), std::move(change.old));
                break;
            case Kind::emptied:
                items = std::move(change.all);
                break;
        }
    }
};

/// Merges messages into a list. The memory for the record of a change is allocated before the list changes, so that no
/// message is lost if the allocation fails. `Access` says how messages are read:
///
///     List                             of messages
///     require(channel, value)          the list that a channel holds, to be changed
///     list(value)                      the same of a value that is known to hold one
///     count(op), forEach(op, f)        the messages of an operation
///     check(message)                   throws for what is none
///     id(message), isRemoval(message)
///     log(channel, value, before, changes, ops, encoder)   what the log says; before: how many messages there were
template <class Access>
class MessageMerge {
public:
    using List = typename Access::List;
    using Item = typename List::value_type;
    using Kind = typename MessageChange<List>::Kind;

    MessageMerge(const ChannelSpec& channel, List& items) : channel_(channel), items_(items) {
        if constexpr (ChangesItems<List>) undo.before = items;
    }

    void take(Op& op) {
        MessageIndex index;
        const bool is_indexed = Access::count(op) > MessageIndex::writes_max;
        if (is_indexed) {
            std::size_t at = 0;
            for (const Item& item : items_) index.add(Access::id(item), at++);
        }
        index_ = is_indexed ? &index : nullptr;
        Access::forEach(op, [this](Item& message) { take(message); });
        close();
    }

    MessageUndo<List> undo;

private:
    void take(Item& message) {
        Access::check(message);
        if (Access::isRemoval(message)) {
            remove(std::string(Access::id(message)));
        } else if (const std::size_t at = find(Access::id(message)); at < items_.size()) {
            makeRoom();
            if (!amends(message, at)) removals_.unmark(at);
            undo.changes.push_back({.kind = Kind::replaced, .at = at, .old = takeOut(items_, at)});
            replaceItem(items_, at, std::move(message));
        } else if (!isAmendment(message)) {
            makeRoom();
            if (index_ != nullptr) index_->add(Access::id(message), items_.size());
            items_.push_back(std::move(message));
            undo.changes.push_back({.kind = Kind::added, .at = items_.size() - 1});
        }
    }
    // An amendment changes a part of a message; that of a message which the list does not have changes nothing.
    static bool isAmendment(const Item& message) {
        if constexpr (requires { Access::isAmendment(message); }) {
            return Access::isAmendment(message);
        } else {
            return false;
        }
    }
    // Turns an amendment into what it makes of the message at a place.
    bool amends(Item& message, std::size_t at) {
        if (!isAmendment(message)) return false;
        if constexpr (requires { Access::isAmendment(message); })
            Access::amend(message, *std::next(items_.begin(), static_cast<std::ptrdiff_t>(at)));
        return true;
    }
    // A removed message leaves the list only after the whole write was processed: if the write also contains the
    // message again, it stays in its place. A message that this superstep has already removed may be removed again.
    void remove(std::string id) {
        if (id == remove_all_messages) {
            for (const Item& item : items_) removals_.addGone(Access::id(item));
            if (index_ != nullptr) index_->clear();
            makeRoom();
            undo.changes.push_back({.kind = Kind::emptied, .all = std::exchange(items_, List())});
            removals_.clearMarks();
            return;
        }
        const std::size_t at = find(id);
        if (at == items_.size()) {
            if (removals_.isGone(id)) return;
            throw InvalidUpdateError("a message with the id '" + id + "' is to be removed, and the channel has none",
                                     {.channel = channel_.name});
        }
        removals_.mark(at);
    }
    void close() {
        for (std::size_t at = 0; removals_.takeMarked(at);) {
            removals_.addGone(Access::id(*std::next(items_.begin(), static_cast<std::ptrdiff_t>(at))));
            makeRoom();
            undo.changes.push_back({.kind = Kind::removed, .at = at, .old = takeOut(items_, at)});
            items_.erase(std::next(items_.begin(), static_cast<std::ptrdiff_t>(at)));
        }
    }
    std::size_t find(std::string_view id) const {
        if (id.empty()) return items_.size();
        if (index_ != nullptr) return index_->find(id, items_.size());
        std::size_t at = 0;
        for (const Item& item : items_) {
            if (isSameId(Access::id(item), id)) break;
            ++at;
        }
        return at;
    }
    void makeRoom() {
        auto& changes = undo.changes;
        if (changes.size() == changes.capacity()) changes.reserve(2 * changes.size() + 4);
    }

    const ChannelSpec& channel_;
    List& items_;
    MessageIndex* index_ = nullptr;  // only for writes of many messages
    MessageRemovals removals_;
};

/// Each written message replaces the one with the same id, or is added at the end. Afterwards the first op holds what
/// undoes that.
template <class T, class Access>
struct MessageFold {
    using List = typename Access::List;
    using Undo = MessageUndo<List>;

    static void fold(const ChannelSpec& channel, T& value, std::span<Op* const> ops, Encoder* log) {
        List& items = Access::require(channel, value);
        const std::size_t before = items.size();
        MessageMerge<Access> merge(channel, items);
        try {
            for (Op* op : ops) merge.take(*op);
            if (log != nullptr) Access::log(channel, value, before, merge.undo.changes, ops, *log);
            ops.front()->keep(Undo{});
        } catch (...) {
            merge.undo.apply(items);
            throw;
        }
        ops.front()->template as<Undo>() = std::move(merge.undo);
    }
    static void unfold(T& value, std::span<Op* const> ops) {
        ops.front()->template as<Undo>().apply(Access::list(value));
    }
};

/// The id of a message that was written without one: the same in every repetition of the task.
std::string messageId(const TaskId& task, std::size_t write, std::size_t place);

}  // namespace stategraph::detail
