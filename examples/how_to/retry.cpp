// Retries, for docs/how_to/retry.md: a mail server that is busy at first, and an address that does not exist.
#include <chrono>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <stategraph/stategraph.hpp>

using namespace std::chrono_literals;

namespace sg = stategraph;

struct Busy : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Mail {
    std::string to = {};
    std::vector<std::string> log = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel<&Mail::to>(), sg::channel<&Mail::log>(sg::append));
    }
};

sg::Update<Mail> sendMail(const Mail& mail, sg::Runtime& runtime) {
    std::cout << "  attempt " << runtime.attempt() << "\n";
    if (mail.to.empty()) throw std::runtime_error("no address");
    if (runtime.attempt() < 3) throw Busy("the server is busy");
    return {sg::add<&Mail::log>("sent to " + mail.to)};
}

int main() {
    sg::StateGraph<Mail> graph;
    // [begin retry]
    graph.addNode("send", sendMail,
                  {.retry = {.max_attempts = 5, .initial_interval = 1ms, .retry_on = sg::on<Busy>()}});
    // [end retry]
    // [begin handler]
    const auto onFailure = [](const Mail&, const sg::NodeFailure& failure) -> sg::Command<Mail> {
        return {.update = {sg::add<&Mail::log>("not sent: " + failure.error)}, .go_to = {"letter"}};
    };
    graph.onError("send", onFailure, {"letter"});
    // [end handler]
    graph.addNode("letter", [](const Mail&) -> sg::Update<Mail> { return {sg::add<&Mail::log>("wrote a letter")}; });
    graph.addEdge(sg::START, "send").addEdge("send", sg::END).addEdge("letter", sg::END);
    const auto app = graph.compile();

    for (const char* to : {"ada@example.org", ""}) {
        std::cout << "to '" << to << "'\n";
        const auto result = app.invoke({sg::set<&Mail::to>(to)});
        std::cout << "  " << result.values << "\n";
    }
}
