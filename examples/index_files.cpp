// Counts the words of all files of a folder: one task for each file, and one that puts the counts together.
//
//                     ┌──► count(a.txt) ─┐
//     START ── list ──┼──► count(b.txt) ─┼──► report ──► END
//                     └──► …           ──┘
//
// A file that cannot be read fails its own task alone. What the other tasks counted is stored, so the next run reads
// only the file that was missing. Usage: index_files FOLDER THREAD
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/sqlite_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;
namespace fs = std::filesystem;

struct Index {
    std::string folder = {};
    std::vector<std::string> files = {};
    std::map<std::string, int> words = {};
    int lines = 0;
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Index::folder>(), sg::channel<&Index::files>(),
                            // two files may have the same word
                            sg::channel<&Index::words>(
                                sg::reduce("add_counts",
                                           [](std::map<std::string, int> all, const std::map<std::string, int>& more) {
                                               for (const auto& [word, n] : more) all[word] += n;
                                               return all;
                                           })),
                            sg::channel<&Index::lines>(sg::sum));
    }
};

// What a task of `count` receives in place of the state.
struct File {
    std::string path = {};
    static constexpr auto fields() { return sg::fields<&File::path>(); }
};
constexpr sg::NodeId<File> count{"count"};

// [begin list]
sg::Update<Index> list(const Index& index) {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(index.folder)) files.push_back(entry.path().string());
    std::ranges::sort(files);  // the order of a folder is not the same everywhere
    return sg::set<&Index::files>(files);
}

std::vector<sg::Send> eachFile(const Index& index) {
    std::vector<sg::Send> sends;
    for (const std::string& path : index.files) sends.push_back(count(File{path}));
    return sends;
}
// [end list]

// [begin count]
sg::Update<Index> countFile(const File& file) {
    std::ifstream in(file.path);
    if (!in) throw std::runtime_error(file.path + " cannot be read");
    std::cerr << "reads " + file.path + "\n";
    std::map<std::string, int> words;
    int lines = 0;
    for (std::string line; std::getline(in, line); ++lines) {
        std::string word;
        for (const char c : line + " ") {
            if (std::isalpha(static_cast<unsigned char>(c))) {
                word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
            } else if (!word.empty()) {
                ++words[std::exchange(word, {})];
            }
        }
    }
    return {sg::add<&Index::words>(words), sg::add<&Index::lines>(lines)};
}
// [end count]

sg::Update<Index> report(const Index& index) {
    std::vector<std::pair<int, std::string>> order;
    for (const auto& [word, count] : index.words) order.emplace_back(-count, word);
    std::ranges::sort(order);
    std::cout << index.files.size() << " files, " << index.lines << " lines, " << order.size() << " words\n";
    for (std::size_t i = 0; i < order.size() && i < 3; ++i)
        std::cout << "  " << order[i].second << ": " << -order[i].first << "\n";
    return {};
}

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: index_files FOLDER THREAD\n";
        return 2;
    }
    sg::StateGraph<Index> graph;
    graph.addNode("list", list).addNode(count, countFile).addNode("report", report);
    graph.addEdge(sg::START, "list").addConditionalEdges("list", eachFile, {count.name});
    graph.addEdge(count.name, "report").addEdge("report", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::SqliteSaver>("index.db")});

    // [begin run]
    const sg::RunConfig config{.thread_id = argv[2], .max_concurrency = 8};
    try {
        // Tasks that are due belong to a run that failed: it continues. Otherwise this is a new one.
        if (app.getState({.thread_id = argv[2]}).next.empty()) {
            app.invoke({sg::set<&Index::folder>(argv[1])}, config);
        } else {
            app.invoke(sg::RESUME, config);
        }
    } catch (const std::exception& error) {
        std::cout << error.what() << "\n";
        return 1;
    }
    // [end run]
}
