#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include <stategraph/rocksdb_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct State {
    std::string folder = {};
    std::vector<std::string> paths = {};
    std::map<std::string, int> counts = {};
    int words = 0;
    std::string report = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&State::folder>(), sg::channel<&State::paths>(), sg::channel<&State::counts>(sg::merge),
                            sg::channel<&State::words>(sg::sum), sg::channel<&State::report>());
    }
};
constexpr sg::NodeId<std::string> count{"count"};

auto scan(const State& state) {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(state.folder)) {
        if (entry.is_regular_file()) paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());
    return sg::set<&State::paths>(paths);
}
auto eachFile(const State& state) {
    std::vector<sg::Send> sends;
    for (const auto& path : state.paths) sends.push_back(count(path));
    return sends;
}
auto countWords(const std::string& path) {
    std::ifstream file;
    file.exceptions(std::ios::badbit | std::ios::failbit);
    file.open(path);
    file.exceptions(std::ios::badbit);
    const int words = static_cast<int>(std::distance(std::istream_iterator<std::string>(file), {}));
    return sg::update(sg::add<&State::counts>({{path, words}}), sg::add<&State::words>(words));
}
auto report(const State& state) {
    return sg::set<&State::report>(std::to_string(state.counts.size()) + " files, " + std::to_string(state.words) + " words");
}

int main(int, char** arguments) {
    sg::StateGraph<State> graph;
    graph.addNode("scan", scan);
    graph.addNode(count, countWords, {.retry = {.max_attempts = 3, .retry_on = sg::on<std::ios::failure>()}});
    graph.addNode("report", report);
    graph.addEdge(sg::START, "scan");
    graph.addConditionalEdges("scan", eachFile, {count});
    graph.addEdge(count, "report");
    graph.addEdge("report", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::RocksDBSaver>("jobs")});
    const sg::RunConfig config{.thread_id = "job", .max_concurrency = 8};
    const bool unfinished = !app.getState(config).next.empty();
    const auto result = unfinished ? app.invoke(sg::RESUME, config) : app.invoke({sg::set<&State::folder>(arguments[1])}, config);
    std::cout << result.values.report << "\n";
}
