#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

// The placeholders of recorded scenarios (tests/langgraph/recorded/README.md, "A scenario").
namespace player {

namespace json = boost::json;

/// The id of the assistant that a server has for each of its graphs: the UUID of version 5 of the graph's name.
std::string assistantOf(std::string_view graph);
/// A random UUID.
std::string newId();

/// What placeholders stand for in one conversation. `<thread1>` stands for the first id that is met in its place and
/// for that id alone; two placeholders of one kind, such as `<thread1>` and `<thread2>`, stand for different ids.
/// `<time>` stands for any time, and `<assistant of GRAPH>` for `assistantOf`.
class Bindings {
public:
    void bind(const std::string& placeholder, const std::string& id);
    /// The id of a placeholder; empty if it has none yet.
    std::string idOf(const std::string& placeholder) const;
    /// Whether `got` is what `wanted` says. Placeholders that were not met before are then bound; if the texts differ
    /// nothing is.
    bool match(std::string_view wanted, std::string_view got);
    /// The text with ids in place of placeholders that are bound.
    std::string fillText(std::string_view text) const;
    /// The same for all texts and names of members in a value.
    json::value fill(const json::value& value) const;
    /// What the placeholders of a text stand for, for messages: ` (<run1> is 3f…, <run2> is new)`, or nothing.
    std::string explain(std::string_view text) const;

private:
    using Made = std::vector<std::pair<std::string, std::string>>;  // bindings that a match needs
    bool matchFrom(const std::vector<std::string>& parts, std::size_t at, std::string_view got, Made& made) const;
    bool matchNew(const std::vector<std::string>& parts, std::size_t at, std::string_view got, Made& made) const;
    bool isTaken(const std::string& placeholder, std::string_view id, const Made& made) const;

    std::map<std::string, std::string> ids_;  // by placeholder
};

/// The placeholders of ids in a text, as often as they occur.
std::vector<std::string> placeholdersOf(std::string_view text);

}  // namespace player
