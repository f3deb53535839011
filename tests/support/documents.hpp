#pragma once
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

// The pages of docs/, as what says where a name is explained.
namespace documents {

using Lines = std::vector<std::string>;

const std::filesystem::path& home();
Lines linesOf(const std::filesystem::path& file);
void write(const std::filesystem::path& file, const Lines& lines);
/// STATEGRAPH_UPDATE_GOLDEN=1: what is generated is written.
bool isUpdating();

/// What stands under one heading, up to the next.
struct Section {
    std::string heading;
    std::string anchor = {};  // of the heading; empty before the first
    /// How often each word is in its code. What tables have that were made from headers counts apart.
    std::map<std::string, int> words = {};
    std::map<std::string, int> generated = {};
    bool has(const std::string& word) const { return words.contains(word) || generated.contains(word); }
};

struct Page {
    std::string path;  // from docs/
    std::string title;
    std::vector<Section> sections;
    std::set<std::string> headers = {};  // whose names it lists
    bool has(const std::string& word) const;
};

/// Those that explain names: without the index of names itself and without what says where the work stands.
std::vector<Page> pages();

/// Whether a line says that the table after it is made from a header: "<!-- names of …" or "<!-- options of …".
bool bindsTable(const std::string& line);

}  // namespace documents
