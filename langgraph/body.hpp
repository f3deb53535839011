#pragma once
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

namespace stategraph::langgraph {

/// The members of a request's body, or of an object inside it, which are checked as they are read: what does not fit is
/// refused with 422 and its path. A member that is null counts as not given.
class Body {
public:
    /// Reads the text as one JSON object, whatever its type is said to be. An empty text is refused.
    static Body parse(std::string_view text);
    Body(boost::json::object members, std::string path) : members_(std::move(members)), path_(std::move(path)) {}

    /// Null if it is not given.
    const boost::json::value* find(std::string_view name) const noexcept;
    bool has(std::string_view name) const noexcept { return find(name) != nullptr; }
    std::optional<std::string> text(std::string_view name) const;
    std::string text(std::string_view name, std::string_view otherwise) const;
    bool flag(std::string_view name, bool otherwise) const;
    std::optional<std::size_t> number(std::string_view name, std::size_t least, std::size_t most) const;
    /// An object; empty if it is not given.
    boost::json::object object(std::string_view name) const;
    std::optional<Body> body(std::string_view name) const;
    /// A list of texts, or one text; empty if it is not given.
    std::vector<std::string> texts(std::string_view name) const;
    /// One of some words, the first of which counts if it is not given.
    std::string choice(std::string_view name, std::initializer_list<std::string_view> words) const;
    std::optional<std::string> uuid(std::string_view name) const;

    const boost::json::object& members() const noexcept { return members_; }
    /// Refuses a member.
    [[noreturn]] void refuse(std::string_view name, const std::string& why) const;

private:
    boost::json::object members_;
    std::string path_;
};

/// Checks one of several words. Errors: InvalidRequest, which names `name`.
void checkWord(std::string_view name, std::string_view word, std::initializer_list<std::string_view> words);
/// Reads a number of a target. Errors: InvalidRequest.
std::size_t numberOf(std::string_view name, std::string_view text, std::size_t least, std::size_t most);
/// Reads a truth value of a target: "true" and "1", "false" and "0". Errors: InvalidRequest.
bool flagOf(std::string_view name, std::string_view text);

}  // namespace stategraph::langgraph
