#include <memory>

#include <stategraph/memory_saver.hpp>
#include <stategraph/version.hpp>

extern "C" int runGraph(int n);

int main() {
    const std::unique_ptr<stategraph::BaseCheckpointSaver> saver = std::make_unique<stategraph::MemorySaver>();
    return saver->list({}).empty() && STATEGRAPH_VERSION_MAJOR >= 0 && runGraph(1) == 2 ? 0 : 1;
}
