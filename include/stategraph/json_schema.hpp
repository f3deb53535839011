#pragma once
/// JSON Schemas of types, for senders of JSON such as models that call tools, forms and validators. Needs no Boost.
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <stategraph/channel.hpp>
#include <stategraph/codec.hpp>
#include <stategraph/value.hpp>

namespace stategraph {
namespace detail {

class SchemaWriter;
using DescribeType = void (*)(SchemaWriter& out);

struct SchemaMember {
    std::string_view name;
    bool required;
    std::string_view description;
    DescribeType describe;
};

struct SchemaStruct {
    TypeKey type;
    std::string_view signature;  // of a function; it contains the type's name
    const SchemaMember* members;
    std::size_t size;
    bool allows_unknown;
};

/// The text of a schema that is being written. A type that contains itself is recognised by the struct that it is in.
class SchemaWriter {
public:
    /// Writes a schema that is given as text.
    void text(std::string_view schema) { out_ += schema; }
    void integer(std::int64_t min, std::uint64_t max, bool has_range);
    void names(EnumRows names);
    void optional(DescribeType value);
    /// `count` is the number of items; none: any number.
    void list(DescribeType item, const std::size_t* count = nullptr);
    void tuple(const DescribeType* items, std::size_t size);
    void map(DescribeType mapped, bool has_number_keys);
    void variant(const DescribeType* alternatives, std::size_t size);
    void tagged(const DescribeType* alternatives, const Tags& tags);
    void structure(const SchemaStruct& type);
    /// Writes a number with its unit: `num / den` seconds. `epoch` is not empty for a point in time.
    void count(DescribeType number, std::int64_t num, std::int64_t den, std::string_view epoch);
    /// Returns the whole schema.
    std::string finish() &&;

private:
    struct Open {
        TypeKey type;
        std::string tag;
        std::size_t begin;
        std::string name;  // its place in $defs; empty: nothing refers to it
    };
    struct Def {
        TypeKey type;
        std::string tag;
        std::string name;
        std::string schema;
    };
    void body(const SchemaStruct& type, const Tags& tags, std::string_view tag);
    bool reference(const SchemaStruct& type, std::string_view tag);
    std::string nameFor(std::string_view signature) const;
    void describeAt(std::size_t begin, std::string_view description);

    std::string out_;
    std::vector<Open> open_;
    std::vector<Def> defs_;
    Tags tags_{};  // of the next alternative
    std::string_view tag_;
};

template <class T>
void describeType(SchemaWriter& out);

template <class Struct, class T>
constexpr DescribeType describeOf(T Struct::*) noexcept {
    return &describeType<T>;
}
template <class Member>
    requires requires { typename Member::Type; }
constexpr DescribeType describeOf(Member) noexcept {
    return &describeType<typename Member::Type>;
}

template <class Entry>
constexpr bool isRequired(const Entry& entry) noexcept {
    bool has_value = entry.note.defaulted || isOptionalMember(entry.member);
    if constexpr (requires { Entry::Reducer::kind; }) {
        has_value = has_value || folds(Entry::Reducer::kind);
    }
    return !has_value;
}

template <std::size_t... I, class... Entry>
constexpr auto schemaMembers(const PackOf<std::index_sequence<I...>, Entry...>& entries) {
    return std::array<SchemaMember, sizeof...(Entry)>{SchemaMember{
        entries.PackItem<I, Entry>::value.name, isRequired(entries.PackItem<I, Entry>::value),
        entries.PackItem<I, Entry>::value.note.description, describeOf(entries.PackItem<I, Entry>::value.member)}...};
}

template <class T>
constexpr std::string_view signatureOf() noexcept {
    return __PRETTY_FUNCTION__;
}

template <class T>
void describeStruct(SchemaWriter& out) {
    if constexpr (HasFields<T>) {
        static constexpr auto members = schemaMembers(fields_of<T>.entries);
        out.structure({typeKey<T>(), signatureOf<T>(), members.data(), members.size(), allowsUnknownMembers<T>()});
    } else {
        static constexpr auto members = schemaMembers(channels_of<T>.entries);
        out.structure({typeKey<T>(), signatureOf<T>(), members.data(), members.size(), allowsUnknownMembers<T>()});
    }
}

template <class T>
struct DescribeTemplate {
    static constexpr bool is_known = false;
};
template <class T>
struct DescribeTemplate<std::optional<T>> {
    static constexpr bool is_known = true;
    static void describe(SchemaWriter& out) { out.optional(&describeType<T>); }
};
template <class... T>
struct DescribeTemplate<std::variant<T...>> {
    static constexpr bool is_known = true;
    static void describe(SchemaWriter& out) {
        static constexpr DescribeType alternatives[] = {&describeType<T>...};
        if constexpr (Codec<std::variant<T...>>::is_tagged) {
            out.tagged(alternatives, Codec<std::variant<T...>>::tags());
        } else {
            out.variant(alternatives, sizeof...(T));
        }
    }
};
template <class... T>
struct DescribeTuple {
    static constexpr bool is_known = true;
    static void describe(SchemaWriter& out) {
        static constexpr DescribeType items[] = {&describeType<T>..., nullptr};
        out.tuple(items, sizeof...(T));
    }
};
template <class A, class B>
struct DescribeTemplate<std::pair<A, B>> : DescribeTuple<A, B> {};
template <class... T>
struct DescribeTemplate<std::tuple<T...>> : DescribeTuple<T...> {};
template <class T, std::size_t N>
struct DescribeTemplate<std::array<T, N>> {
    static constexpr bool is_known = true;
    static void describe(SchemaWriter& out) {
        static constexpr std::size_t size = N;
        out.list(&describeType<T>, &size);
    }
};

template <class T>
void describeCount(SchemaWriter& out, std::string_view epoch) {
    out.count(&describeType<typename T::rep>, T::period::num, T::period::den, epoch);
}

template <class T>
void describeType(SchemaWriter& out) {
    requireStorable<T>();
    if constexpr (requires { Codec<T>::json_schema; }) {
        out.text(Codec<T>::json_schema);
    } else if constexpr (Opened<T>::is_wrapped) {
        describeType<typename Opened<T>::Type>(out);
    } else if constexpr (std::is_same_v<T, bool>) {
        out.text(R"({"type":"boolean"})");
    } else if constexpr (std::is_integral_v<T>) {
        using Limits = std::numeric_limits<T>;
        out.integer(static_cast<std::int64_t>(Limits::min()), static_cast<std::uint64_t>(Limits::max()), sizeof(T) < 8);
    } else if constexpr (std::is_floating_point_v<T>) {
        out.text(R"({"type":"number"})");
    } else if constexpr (NamedEnum<T>) {
        out.names({enum_names_of<T>.rows.data(), enum_names_of<T>.rows.size()});
    } else if constexpr (std::is_enum_v<T>) {
        describeType<std::underlying_type_t<T>>(out);
    } else if constexpr (std::is_same_v<T, std::string>) {
        out.text(R"({"type":"string"})");
    } else if constexpr (std::is_same_v<T, std::vector<std::byte>>) {
        out.text(R"({"type":"string","contentEncoding":"base64url"})");
    } else if constexpr (std::is_same_v<T, std::monostate>) {
        out.text(R"({"type":"null"})");
    } else if constexpr (HasFields<T> || HasChannels<T>) {
        describeStruct<T>(out);
    } else if constexpr (DescribeTemplate<T>::is_known) {
        DescribeTemplate<T>::describe(out);
    } else if constexpr (MapLike<T>) {
        using Key = typename T::key_type;
        out.map(&describeType<typename T::mapped_type>,
                std::is_integral_v<Key> || (std::is_enum_v<Key> && !NamedEnum<Key>));
    } else if constexpr (SequenceLike<T>) {
        out.list(&describeType<typename T::value_type>);
    } else if constexpr (DurationLike<T>) {
        describeCount<T>(out, {});
    } else if constexpr (TimePointLike<T>) {
        const bool is_system = requires { T::clock::to_time_t; };
        describeCount<typename T::duration>(out, is_system ? "1970-01-01T00:00Z" : "the clock's epoch");
    } else {
        out.text("{}");
    }
}

}  // namespace detail

/// Returns the JSON Schema (draft 2020-12) of what Value::asStrict and fromJson accept as a T: objects with the members
/// of their tables in the tables' order, `required` and `additionalProperties` as strict reading has them, enums and
/// tagged variants by name, integers with their ranges, descriptions from `sg::describe`. A struct that contains itself
/// is in `$defs`.
///
/// A Codec of your own may say its schema: `static constexpr std::string_view json_schema = R"({"type":"string"})";`;
/// without, it is `{}`, which takes anything. Former names (formerly()) are read and not listed. Cost: a walk over the
/// types, a few microseconds; keep the text if you need it often.
template <class T>
std::string jsonSchema() {
    detail::SchemaWriter out;
    detail::describeType<T>(out);
    return std::move(out).finish();
}

}  // namespace stategraph
