// NOT WITH: sanitize
#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/documents.hpp"
#include "tests/support/markdown.hpp"

// Words that people type who look for something lead somewhere in the documents: tests/repository/typed_words.txt.

namespace typed_words {

namespace fs = std::filesystem;
using documents::Lines;

struct TypedWord {
    std::string word;
    std::string target;  // a page as docs/README.md would link to it, "#" and a heading; "nowhere"
};

std::vector<TypedWord> readWords(const Lines& lines) {
    std::vector<TypedWord> words;
    std::string target;
    for (const std::string& line : lines) {
        if (line.empty() || line.starts_with("# ")) continue;
        if (!line.starts_with(" ")) {
            target = line;
            continue;
        }
        for (std::size_t at = line.find_first_not_of(' '); at < line.size();) {
            const std::size_t end = std::min(line.find(',', at), line.size());
            words.push_back({line.substr(at, end - at), target});
            at = std::min(line.find_first_not_of(' ', end + 1), line.size());
        }
    }
    return words;
}

/// Lower case, with a space for each hyphen.
std::string folded(std::string_view text) {
    std::string all;
    for (const char c : text)
        all.push_back(c == '-' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    return all;
}

/// Whether the word begins a word of the text: "log" is not in "catalog", and is in "logging".
bool holds(const std::string& text, const std::string& word) {
    const std::string all = folded(text);
    const std::string wanted = folded(word);
    for (std::size_t at = all.find(wanted); at != std::string::npos; at = all.find(wanted, at + 1)) {
        if (at == 0 || std::isalnum(static_cast<unsigned char>(all[at - 1])) == 0) return true;
    }
    return false;
}

struct Part {
    std::string anchor;
    std::string heading;
    std::string text;  // with its heading
};

std::vector<Part> partsOf(const Lines& lines) {
    std::vector<Part> parts{{}};
    bool is_block = false;
    for (const std::string& line : lines) {
        if (line.starts_with("```")) is_block = !is_block;
        if (!is_block && line.starts_with("#")) {
            const std::string heading = line.substr(std::min(line.find(' ') + 1, line.size()));
            parts.push_back({.anchor = markdown::anchorOf(heading), .heading = heading, .text = {}});
        }
        parts.back().text += line + "\n";
    }
    return parts;
}

/// The documents in which a reader looks for a word.
struct Places {
    Lines rows;                   // of the index, the questions and the glossary
    std::vector<Part> questions;  // of docs/questions.md
};

Places places() {
    const fs::path docs = documents::home() / "docs";
    Places found;
    for (const char* page : {"README.md", "questions.md", "glossary.md"}) {
        for (const std::string& line : documents::linesOf(docs / page)) found.rows.push_back(line);
    }
    found.questions = partsOf(documents::linesOf(docs / "questions.md"));
    return found;
}

/// Returns an empty text if a reader who looks for the word finds the target.
std::string faultOf(const TypedWord& typed, const Places& all) {
    const std::size_t hash = std::min(typed.target.find('#'), typed.target.size());
    const std::string page = typed.target.substr(0, hash);
    const std::string anchor = typed.target.substr(std::min(hash + 1, typed.target.size()));
    if (page == "questions.md") {
        const auto part = std::find_if(all.questions.begin(), all.questions.end(),
                                       [&](const Part& each) { return each.anchor == anchor; });
        if (part == all.questions.end()) return "the page has no such heading";
        return holds(part->text, typed.word) ? "" : "the answer does not have the word";
    }
    const fs::path file = documents::home() / "docs" / page;
    if (!fs::exists(file)) return "there is no such page";
    const auto parts = partsOf(documents::linesOf(file));
    const auto is_named = [&](const Part& each) { return each.anchor == anchor; };
    if (!anchor.empty() && std::none_of(parts.begin(), parts.end(), is_named)) return "the page has no such heading";
    const auto has_word = [&](const Part& each) { return holds(each.heading, typed.word); };
    if (std::any_of(parts.begin(), parts.end(), has_word)) return {};
    const std::string link = "](" + typed.target;
    const auto leads = [&](const std::string& row) {
        return row.find(link) != std::string::npos && holds(row, typed.word);
    };
    if (std::any_of(all.rows.begin(), all.rows.end(), leads)) return {};
    return "no heading of the page and no line that links to it has the word";
}

}  // namespace typed_words

TEST_CASE("95 of 100 words that people type lead to a page that answers them") {
    const auto words =
        typed_words::readWords(documents::linesOf(documents::home() / "tests/repository/typed_words.txt"));
    const auto places = typed_words::places();
    std::set<std::string> seen;
    std::size_t nowhere = 0;
    for (const auto& typed : words) {
        CAPTURE(typed.word);
        CAPTURE(typed.target);
        CHECK(seen.insert(typed_words::folded(typed.word)).second);
        if (typed.target == "nowhere") {
            ++nowhere;
        } else {
            CHECK(typed_words::faultOf(typed, places) == "");
        }
    }
    CHECK(words.size() >= 250);
    CHECK(nowhere * 20 <= words.size());
}

TEST_CASE("a word that leads nowhere is found") {
    const auto words = typed_words::readWords({"# about", "questions.md#no-such-heading", "    logging", "savers.md",
                                               "    a word that no page has, its tests", "no_page.md", "    test"});
    REQUIRE(words.size() == 4);
    const auto places = typed_words::places();
    CHECK(typed_words::faultOf(words[0], places) == "the page has no such heading");
    CHECK(typed_words::faultOf(words[1], places) == "no heading of the page and no line that links to it has the word");
    CHECK(typed_words::faultOf(words[2], places) == "");
    CHECK(typed_words::faultOf(words[3], places) == "there is no such page");
    CHECK(typed_words::holds("Logging, and more", "log"));
    CHECK_FALSE(typed_words::holds("the catalog", "log"));
}
