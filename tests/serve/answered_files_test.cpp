#include <doctest/doctest.h>

#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>

#include "tests/agent/tools.hpp"
#include "tests/serve/client.hpp"

// Files in the answers of models, as a page of the AI SDK receives them.
using namespace tools;
namespace serve = stategraph::serve;
namespace json = boost::json;

namespace {

/// Says its texts in pieces, if it may, and has files among them.
class Painter final : public model::Model {
public:
    explicit Painter(bool tells) : tells_(tells) {}
    sg::Task<model::Reply> ask(model::Request request, const model::Asking& asking) const override {
        model::Reply reply;
        reply.message = model::assistant("It is done.");
        if (request.messages.back().role == model::Role::user) {
            reply.message = model::assistant({call("c1", "hang")});
            reply.message.content = {model::Text{"Two pictures."}, model::File{"image/png", "", "aGk="},
                                     model::File{"image/png", "https://a/b.png", ""}, model::Text{"Well?"}};
        }
        for (const model::Part& part : reply.message.content) {
            const auto* const text = std::get_if<model::Text>(&part);
            if (tells_ && text != nullptr && asking.tell) asking.tell({.text = text->text});
        }
        co_return reply;
    }

private:
    const bool tells_;
};

}  // namespace

TEST_CASE("files in an answer are reported once, in their places if the answer came whole, else after its pieces") {
    for (const bool tells : {false, true}) {
        CAPTURE(tells);
        serve::Server server;
        server.add("a", serve::endpoint(agent::Agent({.model = std::make_shared<const Painter>(tells),
                                                      .tools = {work(std::make_shared<Ledger>())},
                                                      .compile = stored()}),
                                        {.protocols = {serve::uiMessages()}, .input_channels = {{"messages"}}}));
        const std::string file = R"({"type":"file","media_type":"text/plain","data":"aGk="})";
        const std::string go =
            R"({"input":{"messages":[{"role":"user","content":[{"type":"text","text":"go"},)" + file + "]}]}}";
        std::string shown;
        for (const json::object& line : client::post(server.port(), "/a/t/start?protocol=ui", go).objects()) {
            const std::string type(line.at("type").as_string());
            if (type == "text-delta") shown.append(line.at("delta").as_string());
            if (type == "start-step" || type == "tool-input-available") shown += type == "start-step" ? "/" : "[call]";
            if (type == "text-end") shown += ".";
            if (type != "file") continue;
            CHECK(line.size() == 3);
            CHECK(line.at("mediaType") == "image/png");
            shown += "[" + std::string(line.at("url").as_string()) + "]";
        }
        const std::string files = "[data:image/png;base64,aGk=][https://a/b.png]";
        CHECK(shown ==
              (tells ? "/Two pictures.Well?." + files : "/Two pictures.." + files + "Well?.") + "[call]/It is done..");
    }
}

TEST_CASE("a picture that a tool shows the model is a file of the page, after the output of its call") {
    serve::Server server;
    const auto look = agent::tool<Job>("look", {}, [](const Job& job) {
        return model::ToolOutput{sg::Value("of " + job.what), {model::File{.media_type = "image/png", .data = "cG5n"}}};
    });
    const auto model = model::scripted({model::assistant({call("c1", "sky", "look")}), model::assistant("Blue.")});
    server.add("a", serve::endpoint(agent::Agent({.model = model, .tools = {look}, .compile = stored()}),
                                    {.protocols = {serve::uiMessages()}, .input_channels = {{"messages"}}}));
    const std::string go = R"({"input":{"messages":[{"role":"user","content":[{"type":"text","text":"go"}]}]}})";
    std::string shown;
    for (const json::object& line : client::post(server.port(), "/a/t/start?protocol=ui", go).objects()) {
        const std::string type(line.at("type").as_string());
        if (type == "tool-output-available") shown += std::string(line.at("output").as_string());
        if (type == "file") shown += "[" + std::string(line.at("url").as_string()) + "]";
        if (type == "text-delta") shown += std::string(line.at("delta").as_string());
    }
    CHECK(shown == "of sky[data:image/png;base64,cG5n]Blue.");
}
