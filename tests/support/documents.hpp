#pragma once
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

// The pages of docs/, to find where they explain a name.
namespace documents {

using Lines = std::vector<std::string>;

const std::filesystem::path& home();
Lines linesOf(const std::filesystem::path& file);
void write(const std::filesystem::path& file, const Lines& lines);
/// Whether STATEGRAPH_UPDATE_GOLDEN=1 is set, so that generated parts are written.
bool isUpdating();

/// The text from one heading to the next one.
struct Section {
    std::string heading;
    std::string anchor = {};  // of the heading; empty before the first one
    /// How often each word occurs in the section's code. Tables that are generated from headers are counted separately.
    std::map<std::string, int> words = {};
    std::map<std::string, int> generated = {};
    bool has(const std::string& word) const { return words.contains(word) || generated.contains(word); }
};

struct Page {
    std::string path;  // relative to docs/
    std::string title;
    std::vector<Section> sections;
    std::set<std::string> headers = {};  // the headers whose names the page lists
    bool has(const std::string& word) const;
};

/// The pages that explain names: all except the index of names and the page on the state of the work.
std::vector<Page> pages();

/// Whether the line marks the next table as generated from headers: "<!-- names of …", "<!-- options of …" or
/// "<!-- headers: …".
bool bindsTable(const std::string& line);

}  // namespace documents
