#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <stategraph/detail/member_name.hpp>
#include <stategraph/fields.hpp>
#include <stategraph/partial_json.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

/// How much of a member of a `Partial<T>` has arrived.
enum class MemberProgress : std::uint8_t {
    /// The text has no value for it yet.
    absent,
    /// Its value is open and may become longer.
    growing,
    /// Its value is closed.
    complete,
};

/// "absent", "growing" or "complete".
const char* toString(MemberProgress progress) noexcept;

namespace detail {

/// The value of the member with the index `index` of a table, under its current name or otherwise a former one; null if
/// there is none.
const boost::json::value* findMember(const PartialJson& partial, TableView table, std::size_t index) noexcept;
/// Empty if the value is not a string.
std::string_view textOf(const boost::json::value* value) noexcept;
Value toValue(const boost::json::value& value);

/// Whether an entry of a table belongs to a member.
template <auto Member, class Entry>
constexpr bool isEntryOf(const Entry& entry) noexcept {
    using Pointer = std::remove_cvref_t<decltype(entry.member)>;
    if constexpr (std::is_same_v<Pointer, std::remove_cv_t<decltype(Member)>>) {
        return entry.member == Member;
    } else {
        return false;
    }
}

/// The place of a member in the table of T; the size of the table if it has no such entry.
template <class T, auto Member, std::size_t... I>
consteval std::size_t indexInTable(std::index_sequence<I...>) {
    std::size_t index = sizeof...(I);
    ((isEntryOf<Member>(at<I>(fields_of<T>.entries)) ? void(index = I) : void()), ...);
    return index;
}

}  // namespace detail

/// A T that is still being written as JSON: which of its members are complete, which are growing and which are absent.
/// T is a struct with a `fields()` table.
///
///     sg::Partial<Report> report;
///     for (const auto& delta : stream) {
///         report.feed(delta);
///         title.show(report.text<&Report::title>());             // grows with the text
///     }
///     if (const auto whole = report.complete()) store(*whole);   // a Report
///
/// It is not a T: it can be used as one only after `complete` has returned it. A member that is complete was not
/// checked against the rest of the text, which may turn out not to be JSON, and of equal keys the last one holds.
/// Threads, moves and clear: as PartialJson.
template <detail::HasFields T>
class Partial {
public:
    /// Begins a value. Errors: as PartialJson.
    explicit Partial(const PartialJsonOptions& options = {}) : json_(options) {}

    /// Appends to the text, as PartialJson::feed does.
    PartialState feed(std::string_view chunk) { return json_.feed(chunk); }
    PartialState state() const noexcept { return json_.state(); }
    const PartialJson& json() const noexcept { return json_; }
    void clear() { json_.clear(); }

    /// Cost: a look-up in the object and in its open parts.
    template <auto Member>
    MemberProgress progress() const noexcept {
        const boost::json::value* const found = find<Member>();
        if (found == nullptr) return MemberProgress::absent;
        return json_.isOpen(*found) ? MemberProgress::growing : MemberProgress::complete;
    }
    /// The member's JSON so far, for lists and nested objects; null if it is absent. Valid until the next feed.
    template <auto Member>
    const boost::json::value* find() const noexcept {
        constexpr std::size_t index = detail::indexInTable<T, Member>(typename Layout::Indices());
        static_assert(index < Layout::count, "stategraph: the table of this type has no such member");
        return detail::findMember(json_, {Layout::lookup.data(), Layout::lookup.size(), nullptr}, index);
    }
    /// The text so far, growing or complete; empty if the member is absent or not a text. Valid until the next feed.
    template <auto Member>
    std::string_view text() const noexcept {
        return detail::textOf(find<Member>());
    }
    /// The member, read strictly, once it is complete; none before. Cost: decoding it each time. Errors: WrongTypeError
    /// if it is not a value of the member's type.
    template <auto Member>
    std::optional<detail::TypeOfMember<Member>> get() const {
        if (progress<Member>() != MemberProgress::complete) return std::nullopt;
        return detail::toValue(*find<Member>()).template asStrict<detail::TypeOfMember<Member>>();
    }

    /// The whole T, once the text is complete JSON; none before, and never for a text that ended too early. Cost:
    /// decoding it each time. Errors: WrongTypeError that lists every fault (Value::asStrict) if the JSON is not a T.
    std::optional<T> complete() const {
        if (state() != PartialState::successful_parse) return std::nullopt;
        return detail::toValue(json_.value()).template asStrict<T>();
    }

private:
    using Layout = detail::TableLayout<T>;
    PartialJson json_;
};

}  // namespace stategraph
