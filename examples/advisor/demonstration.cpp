#include "demonstration.hpp"

#include <iostream>
#include <map>
#include <set>

#include <boost/json.hpp>

#include <stategraph/json.hpp>
#include <stategraph/memory_saver.hpp>
#include <stategraph/partial_display.hpp>

#include "client.hpp"
#include "serving.hpp"

namespace advisor {

namespace json = boost::json;
using namespace std::chrono_literals;

namespace {

std::string textOf(const json::object& line, std::string_view member) {
    return std::string(line.at(member).as_string());
}

/// Does what the page does with the lines of a thread's responses: texts grow in their item, and calls are items of
/// their own.
class View {
public:
    void take(const json::object& line) {
        const std::string event = textOf(line, "event");
        if (event == "text-chunk") {
            const std::string step = textOf(line, "stepName");
            display_.replace(step, textOf(line, "text"));
            shapes_[step].insert(json::serialize(display_[display_.size() - 1].value));
        } else if (event == "tool-call") {
            append(line, {{"calls", line.at("toolName")}, {"with", json::parse(textOf(line, "text"))}});
        } else if (event == "tool-call-approval") {
            takeQuestion(line);
        } else if (event == "error") {
            display_.append("error", line.at("message"));
        } else if (event == "finish") {
            status_ = textOf(line, "status");
        }
    }

    const std::string& question() const noexcept { return question_; }
    /// Prints what has been added since the last call.
    void print() {
        for (; printed_ < display_.size(); ++printed_) {
            std::cout << "  " << display_[printed_].name << ": " << display_[printed_].value << "\n";
        }
        for (const auto& [step, shapes] : shapes_) {
            std::cout << "  (the answer of " << step
                      << (shapes.size() > 3 ? " was seen to grow)\n" : " has just begun)\n");
        }
        shapes_.clear();
        std::cout << "  the run is " << status_ << "\n";
    }

private:
    void append(const json::object& line, json::value value) {
        display_.append(textOf(line, "stepName"), std::move(value));
    }
    /// A response that begins with an answer may report the question once more.
    void takeQuestion(const json::object& line) {
        const std::string id = textOf(line, "interruptId");
        if (id == question_) return;
        question_ = id;
        append(line, {{"asks for", line.at("toolName")}, {"with", line.at("args")}});
    }

    sg::PartialDisplay display_;
    std::size_t printed_ = 0;
    std::map<std::string, std::set<std::string>> shapes_;
    std::string question_;
    std::string status_ = "under way";
};

std::string request(const std::string& text) { return json::serialize(json::value{{"input", {{"request", text}}}}); }
std::string answer(const std::string& question, bool approved) {
    return json::serialize(json::value{{"answers", {{{"id", question}, {"value", {{"approved", approved}}}}}}});
}

/// A learner asks for advice, and decides about the course.
void advise(const Client& client, const std::string& learner, const std::string& text, bool approved) {
    const std::string path = "/advisor/" + learner;
    View view;
    const auto take = [&](const json::object& line) { view.take(line); };
    std::cout << learner << ": \"" << text << "\"\n";
    client.postForLines(path + "/start", request(text), take);
    view.print();
    std::cout << learner << (approved ? " approves\n" : " declines\n");
    client.postForLines(path + "/resume", answer(view.question(), approved), take);
    view.print();
    const json::value state = json::parse(client.get(path + "/state"));
    std::cout << "  stored: the plan " << state.at("values").at("plan").at("title") << "\n\n";
}

/// A learner loses patience immediately, while the model takes a minute for each piece.
void abort(const Client& client) {
    std::cout << "eve: \"Everything\"\n";
    View view;
    bool is_cancelled = false;
    client.postForLines("/patient/eve/start", request("Everything"), [&](const json::object& line) {
        if (!is_cancelled) std::cout << "eve aborts: " << client.post("/patient/eve/cancel", "");
        is_cancelled = true;
        view.take(line);
    });
    view.print();
}

}  // namespace

void demonstrate(const std::string& page) {
    sg::serve::Server server;
    AdvisorOptions options{.saver = std::make_shared<sg::MemorySaver>()};
    addAdvisor(server, "advisor", options);
    addPage(server, page);
    options.pause = 1min;
    addAdvisor(server, "patient", options);

    const Client client(server.port());
    std::cout << "the page has " << (client.get("/").find("app.js") != std::string::npos ? "its module" : "no module")
              << "\n\n";
    advise(client, "ada", "I want to write servers with coroutines", true);
    advise(client, "bob", "I am a beginner and want to write servers", false);
    abort(client);
}

}  // namespace advisor
