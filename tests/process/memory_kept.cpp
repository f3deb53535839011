// NOT WITH: sanitize
// The memory that a thread keeps for its next runs is limited, whatever a run worked with.
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#if !defined(__GLIBC__)
int main() { return 0; }  // only glibc reports how much memory is in use
#else
#include <malloc.h>

#include <stategraph/memory_saver.hpp>
#include <stategraph/stategraph.hpp>

#include "tests/support/until.hpp"

namespace sg = stategraph;

namespace {

struct Text {
    std::string text = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel(
            "text", &Text::text, sg::reduce("last", [](const std::string&, const std::string& b) { return b; })));
    }
};
struct Count {
    int n = 0;
    static constexpr auto channels() { return sg::channels(sg::channel("n", &Count::n, sg::sum)); }
};

std::size_t usedKb() {
    const auto used = mallinfo2();
    return (used.uordblks + used.hblkhd) >> 10U;
}

void runLarge(sg::Durability durability) {
    sg::StateGraph<Text> graph;
    graph.addNode("big", [](const Text&) -> sg::Update<Text> {
        return {sg::add(&Text::text, std::string(std::size_t{20} << 20U, 'x'))};
    });
    graph.addNode("small", [](const Text&) -> sg::Update<Text> { return {sg::add(&Text::text, "y")}; });
    graph.addEdge(sg::START, "big").addEdge("big", "small").addEdge("small", sg::END);
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    for (const auto& event :
         app.stream(sg::Update<Text>{sg::add(&Text::text, "")}, {.thread_id = "1", .durability = durability},
                    {.modes = {sg::StreamMode::values}})) {
        (void)event;
    }
    (void)app.invoke({sg::add(&Text::text, "")}, {.thread_id = "2", .durability = durability});
}

void runWide(int sends, sg::Durability durability) {
    sg::StateGraph<Count> graph;
    graph.addNode("w", [](const int&) -> sg::Update<Count> { return {sg::add(&Count::n, 1)}; });
    graph.addNode("command",
                  [sends](const Count&) -> sg::Command<Count> {
                      sg::Command<Count> command;
                      for (int i = 0; i < sends; ++i) command.go_to.add(sg::Send("w", i));
                      return command;
                  },
                  {.ends = {"w"}});
    graph.addConditionalEdges(sg::START,
                              [sends](const Count&) {
                                  std::vector<sg::Send> all;
                                  for (int i = 0; i < sends; ++i) all.emplace_back("w", i);
                                  return all;
                              },
                              {"w"});
    graph.addEdge("w", sg::END).addEdge(sg::START, "command");
    const auto app = graph.compile({.checkpointer = std::make_shared<sg::MemorySaver>()});
    (void)app.invoke(sg::Update<Count>{}, {.thread_id = "1", .durability = durability, .max_concurrency = 1});
}

bool keepsLittle(const char* what, std::size_t before_kb) {
    // A thread of the run may still have to destroy its part.
    if (patience::eventually([&] { return usedKb() < before_kb + 2048; })) return true;
    std::printf("after %s %zu KB are kept\n", what, usedKb() - before_kb);
    return false;
}

}  // namespace

int main() {
    bool good = true;
    for (const auto durability : {sg::Durability::async, sg::Durability::exit}) {
        runLarge(durability);
        runWide(10, durability);
        const std::size_t before_kb = usedKb();
        runLarge(durability);
        good = keepsLittle("a large value", before_kb) && good;
        runWide(20'000, durability);
        good = keepsLittle("a wide superstep", before_kb) && good;
        runWide(10, durability);
        good = keepsLittle("a narrow one", before_kb) && good;
    }
    return good ? 0 : 1;
}
#endif
