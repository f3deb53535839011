#pragma once
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/codec.hpp>
#include <stategraph/detail/schema.hpp>
#include <stategraph/error.hpp>

// How a channel of a state struct behaves, for each reducer: the templates of the tables of function pointers in
// schema.hpp. They are instantiated once for each pair of a member's type and a reducer. The file is longer than others
// because states of both kinds, structs and JSON, take every fold from here.
namespace stategraph::detail {

using checkpoint::LogOp;
using checkpoint::LogPiece;
using checkpoint::WriteKind;

/// The op that replaces the value, so that the ops before it are ignored: the last clear or overwrite.
Op* replacing(std::span<Op* const> ops) noexcept;
/// Throws WrongTypeError with this explanation.
[[noreturn]] void failLoad(const char* why);

/// Writes the list of the ops' items from bytes that are already encoded (EncodedItems). Returns false, and writes
/// nothing, if an item is not known there.
bool appendEncoded(Encoder& log, std::span<Op* const> ops);

template <class T>
const T& initialOf(const ChannelSpec& channel) noexcept {
    return *static_cast<const T*>(channel.initial);
}

template <class T>
void logSet(const ChannelSpec& channel, const T& value, Encoder& log) {
    writeLoggedOp(log, channel.name, LogOp::set);
    encodeItem(log, value);
}

// `Access` is how the functions below see a channel's value and what is written to it. For a member of a state struct,
// an operation holds a value of the member's type. json/folds.hpp has the accesses for JSON channels.

template <class T>
struct PlainValue {
    using Operand = T;
    static T& written(Op& op) noexcept { return op.as<T>(); }
    static void write(Writes& writes, ChannelIndex channel, WriteKind kind, const T& value) {
        writes.add<T>(channel, kind, value);
    }
};

/// A list whose elements can be changed only through the list (SharedList).
template <class T>
concept ChangesItems = requires(T& list, typename T::value_type item) { list.set(std::size_t{}, std::move(item)); };

template <class T>
void replaceItem(T& list, std::size_t at, typename T::value_type item) {
    if constexpr (ChangesItems<T>) {
        list.set(at, std::move(item));
    } else {
        *std::next(list.begin(), static_cast<std::ptrdiff_t>(at)) = std::move(item);
    }
}

template <class T>
struct PlainList {
    using List = T;
    static T& require(const ChannelSpec&, T& value) noexcept { return value; }
    static T& list(T& value) noexcept { return value; }
    static const T& list(const T& value) noexcept { return value; }
    static std::size_t length(const T& value) noexcept { return value.size(); }
    static T make(T&& items) { return std::move(items); }
    /// Moves the written elements to the end.
    static void add(T& items, std::span<Op* const> ops) {
        for (Op* op : ops) {
            if (op->is_item) {
                items.push_back(std::move(op->as<typename T::value_type>()));
            } else if constexpr (ChangesItems<T>) {
                items.append(std::move(op->as<T>()));
            } else {
                T& more = op->as<T>();
                items.insert(items.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
            }
        }
    }
    /// How many elements were written; also valid after they were moved.
    static std::size_t count(std::span<Op* const> ops) {
        std::size_t count = 0;
        for (Op* op : ops) count += op->is_item ? 1 : op->as<T>().size();
        return count;
    }
};

template <class T>
struct PlainMap {
    using Map = T;
    static T& require(const ChannelSpec&, T& value, std::span<Op* const>) noexcept { return value; }
    static T& map(T& value) noexcept { return value; }
    static T& written(Op& op) noexcept { return op.as<T>(); }
    static const auto& key(const typename T::value_type& entry) noexcept { return entry.first; }
    static auto& mapped(typename T::value_type& entry) noexcept { return entry.second; }
};

// The part of each reducer in addition to the common parts below:
//   fold(channel, value, ops, log): folds and logs
//   unfold(value, ops):             takes it back
//   load(list or map, piece):       one operation of the log that is not a set

template <class T, class Access = PlainValue<T>>
struct ReplaceFold {
    static void fold(const ChannelSpec& channel, T& value, std::span<Op* const> ops, Encoder* log) {
        std::swap(value, Access::written(*ops.back()));
        if (log) logSet(channel, value, *log);
    }
    static void unfold(T& value, std::span<Op* const> ops) { std::swap(value, Access::written(*ops.back())); }
};

/// The value of an untracked channel whose type cannot be stored.
template <class T>
struct UnstoredFold {
    static constexpr bool is_unstored = true;
    static void fold(const ChannelSpec&, T& value, std::span<Op* const> ops, Encoder*) {
        std::swap(value, ops.back()->as<T>());
    }
    static void unfold(T& value, std::span<Op* const> ops) { std::swap(value, ops.back()->as<T>()); }
};

/// Any binary operation. Afterwards each op holds the value from before it.
template <class T, class F, class Access = PlainValue<T>>
struct BinaryFold {
    static void fold(const ChannelSpec& channel, T& value, std::span<Op* const> ops, Encoder* log) {
        const F& reduce = *static_cast<const F*>(channel.context.get());
        std::size_t done = 0;
        try {
            for (; done < ops.size(); ++done) {
                T& operand = Access::written(*ops[done]);
                T next = reduce(std::as_const(value), std::as_const(operand));
                operand = std::exchange(value, std::move(next));
            }
        } catch (...) {
            unfold(value, {ops.data(), done});
            throw;
        }
        if (log) logSet(channel, value, *log);
    }
    static void unfold(T& value, std::span<Op* const> ops) {
        for (std::size_t i = ops.size(); i-- > 0;) value = std::move(Access::written(*ops[i]));
    }
};

template <class T, class Access = PlainList<T>>
struct AppendFold {
    using List = typename Access::List;
    using Item = typename List::value_type;

    static void fold(const ChannelSpec& channel, T& value, std::span<Op* const> ops, Encoder* log) {
        List& items = Access::require(channel, value);
        const std::size_t before = items.size();
        try {
            Access::add(items, ops);
        } catch (...) {
            items.erase(std::next(items.begin(), static_cast<std::ptrdiff_t>(before)), items.end());
            throw;
        }
        if (log) logAppended(channel, value, before, ops, *log);
    }
    static void logAppended(const ChannelSpec& channel, const T& value, std::size_t before, std::span<Op* const> ops,
                            Encoder& log) {
        writeLoggedOp(log, channel.name, LogOp::append);
        if (log.encodedItems() == nullptr || !appendEncoded(log, ops)) encodeTail(channel, &value, before, log);
    }
    static void unfold(T& value, std::span<Op* const> ops) {
        List& items = Access::list(value);
        items.erase(std::prev(items.end(), static_cast<std::ptrdiff_t>(Access::count(ops))), items.end());
    }
    static void load(List& items, const LogPiece& piece) {
        Decoder in(piece.value);
        if (piece.op == LogOp::append) {
            for (std::size_t count = in.array(); count > 0; --count) {
                if constexpr (requires { requires std::is_same_v<decltype(items.emplace_back()), Item&>; }) {
                    decodeItem(in, items.emplace_back());
                } else {
                    Item item{};
                    decodeItem(in, item);
                    items.push_back(std::move(item));
                }
            }
            return;
        }
        if (piece.op != LogOp::edit) failLoad("an operation that a list does not have");
        for (std::size_t count = in.array(); count > 0; --count) {
            const std::size_t parts = in.array();
            const std::uint64_t at = in.unsignedInteger();
            if (parts == 1 && at < items.size()) {
                items.erase(std::next(items.begin(), static_cast<std::ptrdiff_t>(at)));
            } else if (parts == 2 && at <= items.size()) {
                Item item{};
                decodeItem(in, item);
                if (at == items.size()) {
                    items.push_back(std::move(item));
                } else {
                    replaceItem(items, static_cast<std::size_t>(at), std::move(item));
                }
            } else {
                failLoad("an edit outside the list");
            }
        }
    }
    static std::size_t length(const void* value) { return Access::length(*static_cast<const T*>(value)); }
    static void encodeTail(const ChannelSpec&, const void* value, std::size_t from, Encoder& out) {
        const List& items = Access::list(*static_cast<const T*>(value));
        out.array(items.size() - from);
        for (auto item = std::next(items.begin(), static_cast<std::ptrdiff_t>(from)); item != items.end(); ++item) {
            encodeItem(out, *item);
        }
    }
};

/// A list that is empty at the beginning of each superstep.
template <class T, class Access = PlainList<T>>
struct TopicFold : AppendFold<T, Access> {
    struct Undo {
        T before;
    };

    static void fold(const ChannelSpec& channel, T& value, std::span<Op* const> ops, Encoder* log) {
        typename Access::List items{};
        Access::add(items, ops);
        ops.front()->keep(Undo{Access::make(std::move(items))});
        std::swap(value, ops.front()->template as<Undo>().before);
        if (log) logSet(channel, value, *log);
    }
    static void unfold(T& value, std::span<Op* const> ops) {
        value = std::move(ops.front()->template as<Undo>().before);
    }
};

/// Merges maps; entries of later ops win. Afterwards the first op holds what the merge replaced and added.
template <class T, class Access = PlainMap<T>>
struct MergeFold {
    using Map = typename Access::Map;
    struct Undo {
        // The keys own their bytes, even if the map's keys are views into it.
        using Key = std::conditional_t<std::is_convertible_v<typename Map::key_type, std::string_view>, std::string,
                                       typename Map::key_type>;
        Map replaced;
        std::vector<Key> added;
    };
    static void fold(const ChannelSpec& channel, T& value, std::span<Op* const> ops, Encoder* log) {
        Map& held = Access::require(channel, value, ops);
        Map changed = std::move(Access::written(*ops.front()));
        for (Op* op : ops.subspan(1)) takeAll(changed, Access::written(*op));
        if (log) {
            writeLoggedOp(*log, channel.name, LogOp::put);
            encodeItem(*log, changed);
        }
        ops.front()->keep(Undo{});
        Undo& undo = ops.front()->as<Undo>();
        try {
            if constexpr (requires { changed.extract(changed.begin()); }) {  // moves entries as a whole
                const auto give = [&](Map& to, auto entry) { return to.insert(changed.extract(entry)).position; };
                while (!changed.empty()) place(held, undo, changed.begin(), give);
            } else {
                const auto give = [](Map& to, auto entry) {
                    return to.emplace(Access::key(*entry), std::move(Access::mapped(*entry))).first;
                };
                for (auto entry = changed.begin(); entry != changed.end(); ++entry) place(held, undo, entry, give);
            }
        } catch (...) {
            unfold(value, ops);
            throw;
        }
    }
    static void unfold(T& value, std::span<Op* const> ops) {
        Undo& undo = ops.front()->as<Undo>();
        Map& held = Access::map(value);
        // In reverse order, so that a map that keeps the order of its entries regains the order from before.
        for (std::size_t i = undo.added.size(); i-- > 0;) held.erase(undo.added[i]);
        for (auto& [key, entry] : undo.replaced) held.insert_or_assign(key, std::move(entry));
    }
    static void load(Map& held, const LogPiece& piece) {
        if (piece.op != LogOp::put) failLoad("an operation that a map does not have");
        Decoder in(piece.value);
        Map entries{};
        decodeItem(in, entries);
        takeAll(held, entries);
    }

private:
    // Moves the entries to a map, where they replace those with the same keys. The tasks' entries often come in the
    // order of their keys, so each is first tried at the end.
    static void takeAll(Map& to, Map& entries) {
        if constexpr (requires { to.insert(to.end(), entries.extract(entries.begin())); }) {
            while (!entries.empty()) {
                auto node = entries.extract(entries.begin());
                const auto at = to.insert(to.end(), std::move(node));
                if (!node.empty()) Access::mapped(*at) = std::move(node.mapped());
            }
        } else {
            for (auto& [key, entry] : entries) to.insert_or_assign(key, std::move(entry));
        }
    }
    // `give` moves an entry to a map that does not have its key.
    static void place(Map& held, Undo& undo, typename Map::iterator entry, auto give) {
        const auto found = held.find(Access::key(*entry));
        if (found == held.end()) {
            undo.added.emplace_back(Access::key(*entry));
            give(held, entry);
        } else {
            // The new value is put into its place first, so that the replaced one is not lost if no memory is
            // available.
            using std::swap;
            swap(Access::mapped(*give(undo.replaced, entry)), Access::mapped(*found));
        }
    }
};

// What all channels have in common. `Fold` is one of the structs above.
template <class T, class Fold, class Access = PlainValue<T>>
struct ChannelBehaviour {
    static constexpr bool is_unstored = requires { Fold::is_unstored; };

    static void apply(const ChannelSpec& channel, void* place, std::span<Op* const> ops, Encoder* log) {
        T& value = *static_cast<T*>(place);
        Op* op = replacing(ops);
        if (op == nullptr) {
            Fold::fold(channel, value, ops, log);
            return;
        }
        [[maybe_unused]] const bool unsets = op->kind == WriteKind::clear && !beginsSet(channel.kind);
        if (op->kind == WriteKind::clear) op->keep(T(initialOf<T>(channel)));
        std::swap(value, replacement(*op));
        if constexpr (!is_unstored) {
            if (log == nullptr) return;
            if (unsets) {
                writeLoggedOp(*log, channel.name, LogOp::clear);
            } else {
                logSet(channel, value, *log);
            }
        }
    }
    static void undo(const ChannelSpec&, void* place, std::span<Op* const> ops) {
        T& value = *static_cast<T*>(place);
        if (Op* op = replacing(ops)) {
            std::swap(value, replacement(*op));
        } else {
            Fold::unfold(value, ops);
        }
    }
    static void reset(const ChannelSpec& channel, void* place) { *static_cast<T*>(place) = initialOf<T>(channel); }
    static void encode(const ChannelSpec&, const void* value, Encoder& out) {
        if constexpr (is_unstored) {
            (void)value;
            out.null();
        } else {
            encodeItem(out, *static_cast<const T*>(value));
        }
    }
    static void loadNothing(const ChannelSpec&, void*, std::span<const LogPiece>) {}
    static void load([[maybe_unused]] const ChannelSpec& channel, void* place, std::span<const LogPiece> pieces) {
        T& value = *static_cast<T*>(place);
        if constexpr (Opened<T>::is_wrapped && wholly_storable<T>) {
            using Inner = typename Opened<T>::Type;
            Opened<T>::change(value, [&](Inner& inner) {
                ChannelBehaviour<Inner, ReplaceFold<Inner>>::load(channel, &inner, pieces);
            });
            return;
        }
        for (const LogPiece& piece : pieces) {
            if constexpr (requires { Access::load(channel, value, piece); }) {
                Access::load(channel, value, piece);
                continue;
            }
            if (piece.op == LogOp::set) {
                Decoder in(piece.value);
                value = T{};
                decodeItem(in, value);
            }
            // Most pieces are a single item.
            if constexpr (requires {
                              value.reserve(value.capacity());
                              typename Listed::Item;
                          }) {
                if (&piece == pieces.data() && pieces.size() > 1) value.reserve(value.size() + pieces.size());
            }
            if (piece.op == LogOp::set) continue;
            if constexpr (requires { Listed::load(value, piece); }) {
                Listed::load(value, piece);
            } else {
                failLoad("an operation that this type does not have");
            }
        }
    }
    static void decode(Decoder& in, void* value) {
        if constexpr (is_unstored) {
            (void)value;
            in.skip();
        } else {
            decodeItem(in, *static_cast<T*>(value));
        }
    }
    static void copy(void* to, const void* from) { *static_cast<T*>(to) = *static_cast<const T*>(from); }
    static void write(const ChannelSpec& channel, const void* value, Writes& writes) {
        Access::write(writes, channel.index, folds(channel.kind) ? WriteKind::add : WriteKind::set,
                      *static_cast<const T*>(value));
    }
    static void decodeWrite(const ChannelSpec& channel, WriteKind kind, Decoder& in, Writes& writes) {
        if (kind == WriteKind::clear) {
            writes.addClear(channel.index);
        } else if constexpr (is_unstored) {
            in.skip();  // written when the channel was of another type
        } else {
            writes.addDecoded(value_ops<typename Access::Operand>, channel.index, kind, in);
        }
    }

private:
    // The value that a replacing operation holds; for a clear, the value that it replaced.
    static T& replacement(Op& op) noexcept { return op.kind == WriteKind::clear ? op.as<T>() : Access::written(op); }
    // Reading the log must not depend on the current reducer: a list or a map reads what its type can hold.
    template <class U>
    static auto listed() {
        if constexpr (requires { typename U::mapped_type; }) {
            return MergeFold<U>{};
        } else if constexpr (requires(U u) {
                                 u.push_back(std::declval<typename U::value_type>());
                                 u.emplace_back();
                             } && !std::is_same_v<U, std::string>) {
            return AppendFold<U>{};
        } else {
            return 0;
        }
    }
    struct None {};
    using Found = decltype(listed<T>());
    using Listed = std::conditional_t<std::is_class_v<Found>, Found, None>;
};

/// What the library's own codec stores a type as. A vector of bytes may be a byte string, and is not known.
template <class T>
constexpr const char* kindHeld() noexcept {
    if constexpr (std::is_same_v<T, bool>) {
        return "boolean";
    } else if constexpr (std::is_arithmetic_v<T>) {
        return "number";
    } else if constexpr (std::is_same_v<T, std::string>) {
        return "text";
    } else if constexpr (HasFields<T>) {
        return "map";
    } else if constexpr (requires { typename T::value_type; }) {
        using Item = typename T::value_type;
        if constexpr (std::is_same_v<T, std::vector<Item>> && sizeof(Item) > 1) return "list";
        return "";
    } else {
        return "";
    }
}

template <class T, class Fold, class Access = PlainValue<T>>
constexpr Behaviour makeBehaviour() {
    using C = ChannelBehaviour<T, Fold, Access>;
    Behaviour behaviour{.apply = C::apply,
                        .undo = C::undo,
                        .reset = C::reset,
                        .encode = C::encode,
                        .load = C::loadNothing,
                        .copy = C::copy,
                        .write = C::write,
                        .decodeWrite = C::decodeWrite};
    behaviour.decode = C::decode;
    if constexpr (!C::is_unstored) {
        behaviour.load = C::load;
        behaviour.holds = kindHeld<T>();
    }
    if constexpr (requires { Fold::encodeTail; }) {
        behaviour.length = Fold::length;
        behaviour.encodeTail = Fold::encodeTail;
    }
    if constexpr (requires { Fold::prepare; }) behaviour.prepare = Fold::prepare;
    return behaviour;
}

template <class T, class Fold>
struct BehaviourOf {
    static constexpr Behaviour behaviour = makeBehaviour<T, Fold>();
};

// The most common ones are compiled once, with the library (src/superstep/behaviours.cpp).
#define STATEGRAPH_COMMON_BEHAVIOUR(T, FOLD) \
    template <>                              \
    struct BehaviourOf<T, FOLD<T>> {         \
        static const Behaviour behaviour;    \
    };
STATEGRAPH_COMMON_BEHAVIOUR(bool, ReplaceFold)
STATEGRAPH_COMMON_BEHAVIOUR(int, ReplaceFold)
STATEGRAPH_COMMON_BEHAVIOUR(std::int64_t, ReplaceFold)
STATEGRAPH_COMMON_BEHAVIOUR(std::uint64_t, ReplaceFold)
STATEGRAPH_COMMON_BEHAVIOUR(double, ReplaceFold)
STATEGRAPH_COMMON_BEHAVIOUR(std::string, ReplaceFold)
STATEGRAPH_COMMON_BEHAVIOUR(std::vector<int>, ReplaceFold)
STATEGRAPH_COMMON_BEHAVIOUR(std::vector<int>, AppendFold)
STATEGRAPH_COMMON_BEHAVIOUR(std::vector<std::string>, ReplaceFold)
STATEGRAPH_COMMON_BEHAVIOUR(std::vector<std::string>, AppendFold)
#undef STATEGRAPH_COMMON_BEHAVIOUR

template <class T, class Fold>
inline constexpr const Behaviour* behaviour_of = &BehaviourOf<T, Fold>::behaviour;

}  // namespace stategraph::detail
