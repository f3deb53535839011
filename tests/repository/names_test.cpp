// NOT WITH: sanitize
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/support/documents.hpp"
#include "tests/support/markdown.hpp"
#include "tests/support/public_names.hpp"

// Every public name is found from docs/index_of_names.md, which leads to the page that explains it. The file is
// longer than other ones, because its sample has one of each kind of declaration.
//
// A comment of a page binds the table after it to a header:
//     <!-- names of timeline.hpp -->                    the types, functions and constants that the header declares
//     <!-- options of config.hpp: RunConfig -->         the options of a type, with their defaults
//     <!-- headers: fork.hpp timeline.hpp -->           the names of each header that the page does not have yet
// STATEGRAPH_UPDATE_GOLDEN=1 in the environment writes these tables and the index. A link of the index stays as it is
// while the section that it leads to has the name: to lead to a better page, change the link.

namespace names_test {

using documents::Lines;
using documents::Page;
using documents::Section;
using public_names::Kind;
using public_names::Name;
using public_names::sentenceOf;

const std::vector<Name>& names() {
    static const std::vector<Name> all = public_names::namesBelow(documents::home() / "include/stategraph");
    return all;
}

std::string inCell(std::string text) {
    for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) text.insert(at, "\\");
    return text;
}

/// Returns "Values: `a`, `b`." for an enumeration, "Members: …" for a struct, and an empty text if there are none.
std::string partsOf(const Name& type) {
    std::string parts;
    bool is_enumeration = false;
    for (const Name& name : names()) {
        const bool is_part = name.kind == Kind::enumerator || name.kind == Kind::member;
        if (!is_part || name.owner != type.name || name.header != type.header) continue;
        is_enumeration = name.kind == Kind::enumerator;
        parts += (parts.empty() ? "`" : ", `") + name.name + "`";
    }
    if (parts.empty()) return {};
    return (is_enumeration ? "Values: " : "Members: ") + parts + ".";
}

std::string meaningOf(const Name& name) {
    const std::string parts = name.kind == Kind::type ? partsOf(name) : "";
    const std::string sentence = sentenceOf(name.comment);
    return inCell(sentence + (sentence.empty() || parts.empty() ? "" : " ") + parts);
}

std::string shownName(const Name& name) {
    return "`" + name.name + "`" + (name.owner.empty() ? "" : " of `" + name.owner + "`");
}

bool isOwnRow(const Name& name) { return name.kind != Kind::enumerator && name.kind != Kind::member; }

// ------------------------------------------------------------------------------------------------ tables of pages

/// Returns the table that must follow a binding, or nothing if the header has no such thing.
Lines tableOf(const std::string& header, const std::string& type) {
    Lines rows;
    for (const Name& name : names()) {
        if (name.header != header) continue;
        if (!type.empty() && name.kind == Kind::option && name.owner == type)
            rows.push_back("| `" + inCell(name.declaration) + "` | " + inCell(name.comment) + " |");
        if (type.empty() && isOwnRow(name) && (name.kind == Kind::type || name.owner.empty()))
            rows.push_back("| " + shownName(name) + " | " + meaningOf(name) + " |");
    }
    if (rows.empty()) return {};
    const Lines head{type.empty() ? "| name | what it is |" : "| option of `" + type + "` | what it does |",
                     "|---|---|"};
    rows.insert(rows.begin(), head.begin(), head.end());
    return rows;
}

/// Returns the words in the code of a page's own sentences and blocks.
std::set<std::string> wordsOf(const Page& page) {
    std::set<std::string> words;
    for (const Section& section : page.sections) {
        for (const auto& word : section.words) words.insert(word.first);
    }
    return words;
}

/// Returns a row for each header with the names that it declares, without those that the page has already, or nothing
/// if one of the headers declares none.
Lines namesByHeader(const std::string& headers, const std::set<std::string>& words) {
    Lines rows{"| header | declares also |", "|---|---|"};
    std::istringstream each(headers);
    for (std::string header; each >> header;) {
        std::string others;
        bool has_names = false;
        for (const Name& name : names()) {
            if (name.header != header || !isOwnRow(name) || (name.kind != Kind::type && !name.owner.empty())) continue;
            has_names = true;
            if (!words.contains(name.name)) others += (others.empty() ? "" : ", ") + shownName(name);
        }
        if (!has_names) return {};
        if (!others.empty()) rows.push_back("| `" + header + "` | " + others + " |");
    }
    return rows;
}

std::optional<Lines> boundTable(const std::string& line, const std::set<std::string>& words) {
    static const std::regex binding(R"(<!-- (?:names of ([\w/]+\.hpp)|options of ([\w/]+\.hpp): (\w+)) -->)");
    static const std::regex headers(R"(<!-- headers:((?: [\w/]+\.hpp)+) -->)");
    std::smatch match;
    if (std::regex_match(line, match, headers)) return namesByHeader(match[1], words);
    if (!std::regex_match(line, match, binding)) return std::nullopt;
    return match[1].matched ? tableOf(match[1], "") : tableOf(match[2], match[3]);
}

/// Returns the page with each bound table as it must be.
Lines withTables(const Lines& page, const std::set<std::string>& words) {
    Lines made;
    for (std::size_t i = 0; i < page.size(); ++i) {
        made.push_back(page[i]);
        if (!documents::bindsTable(page[i])) continue;
        const auto table = boundTable(page[i], words);
        CHECK_MESSAGE((table && !table->empty()), page[i] << " names no public header, or no type with options in it");
        while (i + 1 < page.size() && page[i + 1].starts_with("|")) ++i;
        if (table) made.insert(made.end(), table->begin(), table->end());
    }
    return made;
}

// ------------------------------------------------------------------------------------------------- where a name is

/// Returns whether a section explains a name: the section contains it, and the page contains its type. For a method its
/// type is enough.
bool explains(const Page& page, const Section& section, const Name& name) {
    if (name.kind == Kind::method) return section.has(name.owner) || (section.has(name.name) && page.has(name.owner));
    return section.has(name.name) && (name.owner.empty() || page.has(name.owner));
}

int count(const std::map<std::string, int>& words, const std::string& word) {
    const auto found = words.find(word);
    return found == words.end() ? 0 : found->second;
}

/// Returns how well: the page of its header is better than others, pages that teach are better than those that list, a
/// heading is better than a sentence, and a sentence is better than a table.
int quality(const Page& page, const Section& section, const Name& name) {
    static const std::regex lists(
        "(semantics|troubleshooting|coming_from_.*|comparison|checkpoint_format|glossary|"
        "workflow_rules|inspector_features|agents_beside_others)\\.md");
    int points = 20 * std::min(count(section.words, name.name), 8) + (section.generated.contains(name.name) ? 30 : 0);
    if (section.heading.find(name.name) != std::string::npos) points += 200;
    if (!name.owner.empty() && section.has(name.owner)) points += 200;
    if (page.headers.contains(name.header)) points += 150;
    if (section.anchor.empty()) points -= 5;
    return std::regex_match(page.path, lists) ? points - 400 : points;
}

std::string linkTo(const Page& page, const Section& section) {
    return page.path + (section.anchor.empty() ? "" : "#" + section.anchor);
}

/// Returns the place that a link names, or none if it does not explain the name.
std::optional<std::string> kept(const std::vector<Page>& pages, const Name& name, const std::string& link) {
    for (const Page& page : pages) {
        for (const Section& section : page.sections) {
            if (linkTo(page, section) == link && explains(page, section, name)) return page.title;
        }
    }
    return std::nullopt;
}

/// Returns the title and the link of the best place, or none if no page explains it.
std::optional<std::pair<std::string, std::string>> found(const std::vector<Page>& pages, const Name& name) {
    std::optional<std::pair<std::string, std::string>> best;
    int most = 0;
    for (const Page& page : pages) {
        for (const Section& section : page.sections) {
            if (!explains(page, section, name)) continue;
            const int points = quality(page, section, name);
            if (best && points <= most) continue;
            best.emplace(page.title, linkTo(page, section));
            most = points;
        }
    }
    return best;
}

std::string adviceOn(const Name& name) {
    const std::string binding =
        name.kind == Kind::option ? "options of " + name.header + ": " + name.owner : "names of " + name.header;
    return shownName(name) + " (include/stategraph/" + name.header +
           ") is in no page of docs/. Explain it, with its type, in the page of its subject, or put <!-- " + binding +
           " --> there; then run this test with STATEGRAPH_UPDATE_GOLDEN=1 in the environment";
}

// ------------------------------------------------------------------------------------------------------- the index

const std::filesystem::path& indexFile() {
    static const std::filesystem::path file = documents::home() / "docs/index_of_names.md";
    return file;
}

/// Returns the current links of the index, by the first two cells of their rows.
std::map<std::string, std::string> linksOf(const Lines& index) {
    static const std::regex row(R"(\| (`.*?) \| `([^`]*)` \| .* \| \[.*\]\((.*)\) \|)");
    std::map<std::string, std::string> links;
    for (const std::string& line : index) {
        std::smatch match;
        if (std::regex_match(line, match, row)) links[match[1].str() + " " + match[2].str()] = match[3];
    }
    return links;
}

std::string letterOf(const Name& name) {
    return {static_cast<char>(std::toupper(static_cast<unsigned char>(name.name.front())))};
}

std::string lowered(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

/// Returns the names that have a row of their own, sorted without regard to capitals.
std::vector<Name> sortedNames() {
    std::vector<Name> sorted;
    std::copy_if(names().begin(), names().end(), std::back_inserter(sorted), isOwnRow);
    std::sort(sorted.begin(), sorted.end(), [](const Name& a, const Name& b) {
        return std::tuple(lowered(a.name), a.name, a.owner, a.header) <
               std::tuple(lowered(b.name), b.name, b.owner, b.header);
    });
    return sorted;
}

Lines madeIndex(const std::map<std::string, std::string>& links) {
    const std::vector<Page> pages = documents::pages();
    std::string letters;
    Lines rows;
    for (const Name& name : sortedNames()) {
        std::optional<std::pair<std::string, std::string>> place;
        const auto link = links.find(shownName(name) + " " + name.header);
        if (link != links.end()) {
            if (const auto title = kept(pages, name, link->second)) place.emplace(*title, link->second);
        }
        if (!place) place = found(pages, name);
        CHECK_MESSAGE(place.has_value(), adviceOn(name));
        if (!place) continue;
        const std::string letter = letterOf(name);
        if (letters.empty() || letters.back() != letter.back()) {
            letters += letter;
            rows.insert(rows.end(), {"", "## " + letter, "| name | header | what it is | page |", "|---|---|---|---|"});
        }
        rows.push_back("| " + shownName(name) + " | `" + name.header + "` | " + meaningOf(name) + " | [" +
                       place->first + "](" + place->second + ") |");
    }
    std::string line;
    for (const char letter : letters) {
        const std::string heading(1, letter);
        line += (line.empty() ? "[" : " · [") + heading + "](#" + markdown::anchorOf(heading) + ")";
    }
    Lines index{"# Index of names",
                "Every public type, function, constant, option and method of the headers in "
                "[include/stategraph/](../include/stategraph): the header that declares it, the first sentence of its "
                "comment, and the page that explains it. Values of an enumeration and members of a result are in the "
                "row of their type. `tests/repository/names_test.cpp` makes this page from the headers.",
                "", line};
    index.insert(index.end(), rows.begin(), rows.end());
    return index;
}

/// One of each kind of declaration that the headers have.
const char* const sample_header = R"(#pragma once
#define MACRO(x) struct x {}
namespace stategraph {
class Forward;
namespace detail {
struct Hidden {};
}
/// A type. With a second sentence, e.g. this one; it's "quoted" { here.
template <class T>
    requires(sizeof(T) < 9 && std::integral<T>)
class Box : public Base<T> {
public:
    Box() = default;
    Box(Box&& other) noexcept : value_{std::move(other.value_)}, size_(1) {}
    Box& operator=(const Box& other) noexcept { return *this; }
    ~Box();
    /// How large it is.
    std::size_t size() const noexcept { return size_; }
    template <class F>
    void each(F f) const { for (;;) { f(value_); } }
    void push_back(T value);
    void ofBase() const override;
    friend bool operator==(const Box&, const Box&) = default;
    static constexpr int size_max = 10'000;
    int count = 0;  // how many
private:
    int hidden() const;
    T value_ = {};
};
struct BoxOptions {
    /// Given by users.
    detail::Member<std::optional<std::string>> label = {};
    std::function<bool(int)> test = {};
    static const BoxOptions& defaults() noexcept;
};
enum class Colour : std::uint8_t {
    red,  // like blood, or wine
    green = 7
};
extern const Box<int> SMALL;
using Boxes = std::vector<Box<int>>;
template <class T>
concept Boxed = requires(T t) { t.size(); };
template <class T>
std::size_t Box<T>::size() const { return 0; }
/// Opens it.
template <class T, class = std::enable_if_t<(sizeof(T) > 1)>>
auto open(Box<T> box = {}) -> decltype(box.size());
void open(const char* name);
template <class T>
struct Trait<Box<T>> { int member; };
}  // namespace stategraph
)";

}  // namespace names_test

TEST_CASE("the tables of pages that are made from headers are what the headers say") {
    for (const documents::Page& page : documents::pages()) {
        const auto file = documents::home() / "docs" / page.path;
        const documents::Lines lines = documents::linesOf(file);
        const documents::Lines wanted = names_test::withTables(lines, names_test::wordsOf(page));
        CAPTURE(page.path);
        if (documents::isUpdating() && wanted != lines) documents::write(file, wanted);
        const auto at = std::mismatch(wanted.begin(), wanted.end(), lines.begin(), lines.end());
        if (documents::isUpdating() || wanted == lines) continue;
        CAPTURE((at.first == wanted.end() ? "" : *at.first));
        FAIL_CHECK("line " << at.second - lines.begin() + 1 << " is not what the header says; write the table anew "
                           << "with STATEGRAPH_UPDATE_GOLDEN=1 in the environment");
    }
}

TEST_CASE("every public name has a row in the index of names, which leads to a page that explains it") {
    const documents::Lines index = std::filesystem::exists(names_test::indexFile()) || !documents::isUpdating()
                                       ? documents::linesOf(names_test::indexFile())
                                       : documents::Lines{};
    const documents::Lines wanted = names_test::madeIndex(names_test::linksOf(index));
    CHECK(wanted.size() > 1000);
    if (documents::isUpdating() && wanted != index) documents::write(names_test::indexFile(), wanted);
    if (documents::isUpdating() || wanted == index) return;
    const auto at = std::mismatch(wanted.begin(), wanted.end(), index.begin(), index.end());
    CAPTURE((at.first == wanted.end() ? "" : *at.first));
    FAIL_CHECK("line " << at.second - index.begin() + 1 << " of docs/index_of_names.md is not what the headers and "
                       << "pages say; write it anew with STATEGRAPH_UPDATE_GOLDEN=1 in the environment");
}

TEST_CASE("every public type, function, constant and option has a comment") {
    for (const auto& name : names_test::names()) {
        using public_names::Kind;
        const bool is_part = name.kind == Kind::enumerator || name.kind == Kind::member || name.kind == Kind::method;
        if (!is_part) CHECK_MESSAGE(!name.comment.empty(), names_test::shownName(name) << " of " << name.header);
    }
}

TEST_CASE("the names of a header are found, and what is not for users is left out") {
    const auto names = public_names::namesOf(names_test::sample_header, "box.hpp");
    std::vector<std::string> found;
    for (const auto& name : names) {
        const std::string place = name.owner.empty() ? "" : " of " + name.owner;
        found.push_back(std::string(toString(name.kind)) + " " + name.name + place);
    }
    CHECK(found == std::vector<std::string>{"type Box", "method size of Box", "method each of Box",
                                            "member size_max of Box", "member count of Box", "type BoxOptions",
                                            "option label of BoxOptions", "option test of BoxOptions",
                                            "method defaults of BoxOptions", "type Colour", "enumerator red of Colour",
                                            "enumerator green of Colour", "constant SMALL", "alias Boxes",
                                            "concept Boxed", "function open"});
    REQUIRE(names.size() == 16);
    CHECK(public_names::sentenceOf(names[0].comment) == "A type.");
    CHECK(names[0].comment == "A type. With a second sentence, e.g. this one; it's \"quoted\" { here.");
    CHECK(names[1].comment == "How large it is.");
    CHECK(names[4].comment == "how many");
    CHECK(names[6].declaration == "std::optional<std::string> label = {}");
    CHECK(names[7].declaration == "std::function<bool(int)> test = {}");
    CHECK(names[10].comment == "like blood, or wine");
    CHECK(names[15].comment == "Opens it.");
}

TEST_CASE("a public name that no page explains is reported with what to do") {
    using public_names::Kind;
    const public_names::Name option{.name = "unheard_of",
                                    .owner = "RunConfig",
                                    .kind = Kind::option,
                                    .header = "config.hpp",
                                    .comment = {},
                                    .declaration = {}};
    CHECK(!names_test::found(documents::pages(), option));
    CHECK(names_test::adviceOn(option).find("<!-- options of config.hpp: RunConfig -->") != std::string::npos);
    public_names::Name type = option;
    type.name = "UnheardOf";
    type.owner = "";
    type.kind = Kind::type;
    CHECK(!names_test::found(documents::pages(), type));
    type.name = "RunConfig";
    CHECK(names_test::found(documents::pages(), type));
    CHECK(!names_test::kept(documents::pages(), type, "sqlite.md#space"));  // a link to where it is not explained
    CHECK(names_test::tableOf("config.hpp", "NoSuchType").empty());
    CHECK(names_test::withTables({"text", "<!-- options of fork.hpp: ForkOptions -->", "| old |", "", "| kept |"}, {})
              .size() > 6);
    CHECK(names_test::namesByHeader("fork.hpp retry.hpp", {}).size() == 4);
    CHECK(names_test::namesByHeader("retry.hpp", {"RetryPolicy"}) != names_test::namesByHeader("retry.hpp", {}));
    CHECK(names_test::namesByHeader("fork.hpp no_such_header.hpp", {}).empty());
}
