// An advisor for learners: three agents in a row, each with a typed answer, served over HTTP with a page that shows the
// answers while they are written.
//
//     browser ──► POST /advisor/THREAD/start ──► START ──► profile ──► research ──► synthesis ──► END
//        ▲                                                             webSearch    bookCourse: the learner approves
//        └────── lines of JSON: texts that grow, searches, the question ──────┘
//
// Without arguments it is its own client and prints what a page would show. With `--port N` it serves until SIGTERM:
// open http://localhost:N/. `--pause MS` is how long the scripted model waits after each piece of a few letters.
// A server of it asks a real model if STATEGRAPH_MODEL_URL and STATEGRAPH_MODEL name one (real_model.hpp).
#include <charconv>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <stategraph/memory_saver.hpp>

#include "demonstration.hpp"
#include "real_model.hpp"
#include "serving.hpp"

namespace {

namespace sg = stategraph;

struct Arguments {
    /// If it is none, the program runs the demonstration.
    std::optional<std::uint16_t> port = {};
    std::chrono::milliseconds pause = std::chrono::milliseconds(40);
    std::string page = ADVISOR_PAGE;
};

template <class T>
T numberOf(std::string_view text) {
    T number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size())
        throw std::invalid_argument("not a number in range: " + std::string(text));
    return number;
}

Arguments argumentsOf(int count, char** texts) {
    Arguments arguments;
    for (int i = 1; i < count; i += 2) {
        const std::string_view name = texts[i];
        if (i + 1 == count) throw std::invalid_argument("a value is missing after " + std::string(name));
        const std::string_view value = texts[i + 1];
        if (name == "--port") {
            arguments.port = numberOf<std::uint16_t>(value);
        } else if (name == "--pause") {
            arguments.pause = std::chrono::milliseconds(numberOf<std::uint16_t>(value));
        } else if (name == "--page") {
            arguments.page = value;
        } else {
            throw std::invalid_argument("the arguments are [--port N] [--pause MS] [--page FOLDER]");
        }
    }
    return arguments;
}

void serveUntilTerminated(const Arguments& arguments) {
    sg::serve::ServerOptions options;
    options.port = *arguments.port;
    options.handle_signals = true;
    sg::serve::Server server(options);
    advisor::AdvisorOptions served{
        .pause = arguments.pause, .saver = std::make_shared<sg::MemorySaver>(), .model = advisor::realModel()};
    advisor::addAdvisor(server, "advisor", served);
    served.saver = std::make_shared<sg::MemorySaver>();
    advisor::addTutor(server, "tutor", served);
    advisor::addPage(server, arguments.page);
    std::cout << "http://localhost:" << server.port() << "/" << std::endl;
    server.wait();
}

}  // namespace

int main(int count, char** texts) {
    try {
        const Arguments arguments = argumentsOf(count, texts);
        if (arguments.port) {
            serveUntilTerminated(arguments);
        } else {
            advisor::demonstrate(arguments.page);
        }
    } catch (const std::exception& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
