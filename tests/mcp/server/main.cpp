// An MCP server for tests and for examples/mcp_tools.cpp, which speaks on its standard input and output. Its argument
// says how it misbehaves:
//   version:X    speaks version X              silent       answers nothing
//   dies         exits immediately             flood        writes one line without end
//   pages        lists pages without end       many         lists many tools on one page
//   clash        has two names that clash      old_error    refuses to be initialised
//   stubborn     does not end by itself        deaf         reads nothing after the first tool call
//   noise        writes lines that are no messages, without end
// Notes of what happened go to the file that MCP_TEST_NOTES names.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include <unistd.h>

#include <boost/json.hpp>

namespace {

namespace json = boost::json;

void note(const std::string& text) {
    if (const char* const file = std::getenv("MCP_TEST_NOTES")) std::ofstream(file, std::ios::app) << text << std::endl;
}

void write(const json::object& message) { std::cout << json::serialize(message) << std::endl; }

void answer(const json::value& id, json::object result) {
    write({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}
void refuse(const json::value& id, int code, const std::string& text) {
    write({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", text}}}});
}
void notify(const std::string& method, json::object params) {
    write({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
}

json::object textResult(const std::string& text) {
    return {{"content", json::array{json::object{{"type", "text"}, {"text", text}}}}};
}

json::object tool(const std::string& name, const std::string& description, json::object properties = {},
                  json::object annotations = {}) {
    json::array required;
    for (const auto& member : properties) required.emplace_back(member.key());
    return {{"name", name},
            {"description", description},
            {"inputSchema", {{"type", "object"}, {"properties", std::move(properties)}, {"required", required}}},
            {"annotations", std::move(annotations)}};
}

json::array firstTools() {
    const json::object number{{"type", "number"}};
    const json::object text{{"type", "string"}};
    return {tool("add", "Adds two numbers", {{"a", number}, {"b", number}}, {{"readOnlyHint", true}}),
            tool("remove", "Removes a file", {{"path", text}}, {{"destructiveHint", true}}),
            tool("echo", "Says the same", {{"text", text}})};
}
json::array otherTools() {
    json::array tools;
    for (const char* name : {"picture", "fail", "slow", "report", "die", "environment", "change", "ask", "twice",
                             "garbage", "many_reports", "big", "empty"}) {
        tools.push_back(tool(name, ""));
    }
    return tools;
}

class Server {
public:
    explicit Server(std::string mode) : mode_(std::move(mode)) {}

    void take(const json::object& message) {
        const json::value* const method = message.if_contains("method");
        const json::value* const id = message.if_contains("id");
        if (method == nullptr) return takeAnswer(message);
        const std::string name(method->as_string());
        const json::value* const params = message.if_contains("params");
        const json::object given = params != nullptr ? params->as_object() : json::object();
        if (mode_ == "silent") return note("heard " + name);
        if (name == "initialize") return initialize(*id);
        if (name == "tools/list") return list(*id, given);
        if (name == "tools/call") return call(*id, given);
        if (name == "notifications/cancelled") return note("cancelled " + json::serialize(given.at("requestId")));
        if (name == "notifications/initialized") return note("initialized");
        if (id != nullptr) refuse(*id, -32601, "no method " + name);
    }

private:
    void initialize(const json::value& id) {
        if (mode_ == "old_error") return refuse(id, -32602, "this server is too old");
        const std::string version = mode_.starts_with("version:") ? mode_.substr(8) : "2025-06-18";
        answer(id, {{"protocolVersion", version},
                    {"capabilities", {{"tools", json::object()}}},
                    {"serverInfo", {{"name", "scripted"}, {"version", "1.2"}}},
                    {"instructions", "Be brief."}});
    }
    void list(const json::value& id, const json::object& params) {
        if (mode_ == "pages") return answer(id, {{"tools", json::array()}, {"nextCursor", "more"}});
        if (mode_ == "bad_schemas") {
            json::object recursive = tool("recursive", "");
            recursive["inputSchema"] = json::object{{"$ref", "#"}};
            json::object unchecked = tool("unchecked", "");
            unchecked["inputSchema"] = json::parse(R"({"type":"object","allOf":[{}],"unevaluatedProperties":false})");
            json::object list = tool("list", "");
            list["inputSchema"] = json::array{1};
            json::object text = tool("text", "");
            text["inputSchema"] = json::object{{"type", "string"}};
            return answer(id, {{"tools", json::array{5, json::object{}, std::move(recursive), std::move(unchecked),
                                                     std::move(list), std::move(text), firstTools().at(2)}}});
        }
        if (mode_ == "clash") return answer(id, {{"tools", json::array{tool("a.b", ""), tool("a/b", "")}}});
        if (mode_ == "many") {
            json::array tools;
            for (int i = 0; i < 50; ++i) tools.push_back(tool("tool" + std::to_string(i), ""));
            return answer(id, {{"tools", std::move(tools)}});
        }
        if (!params.contains("cursor")) return answer(id, {{"tools", firstTools()}, {"nextCursor", "page two"}});
        if (params.at("cursor") != "page two") return refuse(id, -32602, "an unknown cursor");
        answer(id, {{"tools", otherTools()}});
    }
    void call(const json::value& id, const json::object& params) {
        const std::string name(params.at("name").as_string());
        const json::object arguments = params.at("arguments").as_object();
        if (mode_ == "deaf") {
            note("deaf");
            for (;;) ::pause();
        }
        if (name == "add") {
            const double real = arguments.at("a").to_number<double>() + arguments.at("b").to_number<double>();
            const auto whole = static_cast<std::int64_t>(real);
            const json::value sum = static_cast<double>(whole) == real ? json::value(whole) : json::value(real);
            json::object result = textResult("the sum is " + json::serialize(sum));
            result["structuredContent"] = json::object{{"sum", sum}};
            return answer(id, std::move(result));
        }
        if (name == "remove") {
            note("removed " + std::string(arguments.at("path").as_string()));
            return answer(id, textResult("removed " + std::string(arguments.at("path").as_string())));
        }
        if (name == "echo") return answer(id, textResult(std::string(arguments.at("text").as_string())));
        if (name == "environment") return answer(id, textResult(environment()));
        if (name == "slow") return note("slow " + json::serialize(id));
        if (name == "die") {
            std::cerr << "a fault in the server" << std::endl;
            std::exit(3);
        }
        callOdd(id, name, params);
    }
    void callOdd(const json::value& id, const std::string& name, const json::object& params) {
        if (name == "picture") {
            return answer(
                id, {{"content",
                      json::array{
                          json::object{{"type", "text"}, {"text", "a picture:"}},
                          json::object{{"type", "image"}, {"data", "aGVsbG8="}, {"mimeType", "image/png"}},
                          json::object{{"type", "resource"}, {"resource", {{"uri", "file:///a"}, {"text", "in a"}}}},
                          json::object{{"type", "resource_link"}, {"uri", "file:///b"}, {"name", "b"}},
                          json::object{{"type", "hologram"}}}}});
        }
        if (name == "fail") {
            json::object result = textResult("the disk is full");
            result["isError"] = true;
            return answer(id, std::move(result));
        }
        if (name == "report" || name == "many_reports") {
            const json::value token = params.at("_meta").as_object().at("progressToken");
            const int count = name == "report" ? 3 : 500;
            for (int i = 1; i <= count; ++i) {
                notify("notifications/progress",
                       {{"progressToken", token}, {"progress", i}, {"total", count}, {"message", "part"}});
            }
            notify("notifications/progress", {{"progressToken", 12345}, {"progress", 1}});
            return answer(id, textResult("reported"));
        }
        if (name == "change") {
            notify("notifications/tools/list_changed", {});
            return answer(id, textResult("changed"));
        }
        if (name == "ask") {
            asking_ = id;
            write({{"jsonrpc", "2.0"}, {"id", "p"}, {"method", "ping"}});
            return write({{"jsonrpc", "2.0"}, {"id", 7}, {"method", "sampling/createMessage"}});
        }
        if (name == "twice") {
            answer(999, textResult("to nobody"));
            answer(id, textResult("first"));
            return answer(id, textResult("second"));
        }
        if (name == "garbage") {
            std::cout << "Loading...\n\n{\"jsonrpc\":\"2.0\"}\n[]\n{\"id\":" << json::serialize(id) << "}" << std::endl;
            write({{"jsonrpc", "2.0"}, {"method", "notifications/unheard"}});
            return answer(id, textResult("clean"));
        }
        if (name == "mangled") return answer(id, textResult("caf\xe9"));  // no UTF-8, so no JSON
        if (name == "mangled_twice") {
            const std::string broken =
                R"({"jsonrpc":"2.0","result":{"content":"\x"},"id":)" + json::serialize(id) + "}";
            std::cout << "[" << broken << "," << broken << "]" << std::endl;
            return;
        }
        if (name == "old_protocol") return write({{"id", id}, {"result", json::object()}});
        if (name == "text_id") return answer(json::value(json::serialize(id)), textResult("as text"));
        if (name == "real_id") return answer(json::value(id.to_number<double>()), textResult("as a real number"));
        if (name == "unknown_id") return refuse(nullptr, -32700, "no JSON");
        if (name == "half") {
            std::cout << R"({"jsonrpc":"2.0","id":)" << json::serialize(id)
                      << R"(,"result":{"content":[{"type":"text","text":"cut \ud83d"}]}})" << std::endl;
            return;
        }
        if (name == "big") return answer(id, textResult(std::string(300'000, 'x')));
        if (name == "empty") return answer(id, {});
        refuse(id, -32602, "there is no tool " + name);
    }
    void takeAnswer(const json::object& message) {
        answers_[json::serialize(message.at("id"))] =
            message.contains("error") ? json::serialize(message.at("error").as_object().at("code")) : "result";
        if (answers_.size() < 2 || asking_.is_null()) return;
        std::string text;
        for (const auto& [id, what] : answers_) text += id + ": " + what + "; ";
        answer(asking_, textResult(text));
    }
    static std::string environment() {
        std::string text;
        for (char** each = environ; *each != nullptr; ++each) text += std::string(*each) + "\n";
        return text;
    }

    std::string mode_;
    json::value asking_;
    std::map<std::string, std::string> answers_;
};

}  // namespace

int main(int count, char** arguments) {
    const std::string mode = count > 1 ? arguments[1] : "";
    note("started");
    if (mode == "dies") {
        std::cerr << "there is no database" << std::endl;
        return 4;
    }
    if (mode == "stubborn") std::signal(SIGTERM, SIG_IGN);
    Server server(mode);
    for (std::string line; std::getline(std::cin, line);) {
        if (mode == "flood" || mode == "noise") {
            const std::string piece = std::string(4095, 'x') + (mode == "noise" ? "\n" : "y");
            while (std::cout << piece) {
            }
        }
        server.take(json::parse(line).as_object());
    }
    note("ended");
    while (mode == "stubborn") std::this_thread::sleep_for(std::chrono::hours(1));  // sleeps: until it is killed
}
