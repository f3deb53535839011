// Ordinary functions as a durable run: what calls returned is stored, so a run that stopped continues without
// making them again.
#include <iostream>
#include <memory>
#include <string>

#include <stategraph/functional.hpp>
#include <stategraph/memory_saver.hpp>

namespace sg = stategraph;

int fetch(const std::string& page) {
    std::cout << "  fetching " << page << "\n";
    return static_cast<int>(page.size());
}

int main() {
    const auto report = sg::entrypoint("report",
                                       [](const std::string& topic, sg::Calls& flow) {
                                           // The two calls run at the same time, and each is stored when it returns.
                                           auto news = flow.start("fetch", fetch, topic + "/news");
                                           const int news_size = news.get();
                                           const int wiki_size = flow.call("fetch", fetch, topic + "/wiki");

                                           const auto title = flow.interrupt<std::string>("What is it to be called?");
                                           return title + ": " + std::to_string(news_size + wiki_size) + " bytes read";
                                       },
                                       {.checkpointer = std::make_shared<sg::MemorySaver>()});

    const sg::Config thread{.thread_id = "report-1"};
    std::cout << "first run\n";
    const auto asked = report.invoke("owls", thread);
    std::cout << "  it asks: " << asked.interrupts.front().value.toJson() << "\n";
    std::cout << "with the answer\n";
    const auto result = report.invoke(sg::resume("On owls"), thread);
    std::cout << "  " << *result.values << "\n";
}
