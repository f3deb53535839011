#include "serve/built_message.hpp"

#include <map>
#include <utility>

#include "serve/told.hpp"

namespace stategraph::serve {

namespace json = boost::json;

namespace {

class Building {
public:
    void take(json::object& line) {
        const std::string type = textOf(line, "type");
        if (type == "start-step") {
            parts_.push_back(json::object{{"type", "step-start"}});
        } else if (type == "text-start" || type == "reasoning-start") {
            texts_[textOf(line, "id")] = parts_.size();
            const std::string kind = type.substr(0, type.find('-'));
            json::object part{{"type", kind}};
            if (kind == "reasoning") part["id"] = line.at("id");
            part["text"] = "";
            part["state"] = "done";
            parts_.push_back(std::move(part));
        } else if (type == "text-delta" || type == "reasoning-delta") {
            const auto found = texts_.find(textOf(line, "id"));
            if (found != texts_.end()) at(found->second).at("text").as_string() += textOf(line, "delta");
        } else if (type == "file" || type == "source-url") {
            parts_.push_back(std::move(line));
        } else if (type == "data-question") {
            parts_.push_back(std::move(line));
        } else if (type.starts_with("tool-")) {
            takeCall(type, line);
        }
    }
    json::array take() { return std::move(parts_); }

private:
    json::object& at(std::size_t place) { return parts_[place].get_object(); }
    void takeCall(const std::string& type, json::object& line) {
        const std::string id = textOf(line, "toolCallId");
        const auto known = calls_.find(id);
        if (type == "tool-input-start" || type == "tool-input-available" || type == "tool-input-error") {
            json::object& part = known != calls_.end() ? at(known->second) : begin(id, line);
            inputs_.erase(id);
            part["state"] = type == "tool-input-error"   ? "output-error"
                            : type == "tool-input-start" ? "input-streaming"
                                                         : "input-available";
            copy(line, "input", part);
            copy(line, "providerExecuted", part);
            copy(line, "errorText", part);
        } else if (known == calls_.end()) {
            return;
        } else if (type == "tool-input-delta") {
            inputs_[id] += textOf(line, "inputTextDelta");
        } else if (type == "tool-approval-request") {
            at(known->second)["state"] = "approval-requested";
            at(known->second)["approval"] = {{"id", line.at("approvalId")}};
        } else if (type == "tool-output-available" || type == "tool-output-error") {
            json::object& part = at(known->second);
            part["state"] = type.substr(5);
            if (const auto written = inputs_.find(id); written != inputs_.end()) {
                boost::system::error_code broken;
                json::value input = parsedText(written->second, broken);
                part["input"] = broken ? json::value(written->second) : std::move(input);
            }
            copy(line, "output", part);
            copy(line, "errorText", part);
            copy(line, "providerExecuted", part);
        } else if (type == "tool-output-denied") {
            at(known->second)["state"] = "output-denied";
            at(known->second)["approval"] = {{"id", id}, {"approved", false}};
        }
    }
    json::object& begin(const std::string& id, const json::object& line) {
        calls_[id] = parts_.size();
        const bool is_dynamic = line.contains("dynamic");
        json::object part{{"type", is_dynamic ? "dynamic-tool" : "tool-" + textOf(line, "toolName")}};
        if (is_dynamic) part["toolName"] = line.at("toolName");
        part["toolCallId"] = id;
        part["state"] = "";
        part["input"] = nullptr;
        return parts_.emplace_back(std::move(part)).get_object();
    }
    static void copy(const json::object& from, std::string_view member, json::object& to) {
        if (const json::value* const found = from.if_contains(member)) to[member] = *found;
    }

    json::array parts_;
    std::map<std::string, std::size_t> texts_, calls_;  // places of parts, by id
    std::map<std::string, std::string> inputs_;         // arguments that came in pieces, as JSON
};

}  // namespace

json::array partsBuiltOf(const std::vector<std::string>& lines) {
    Building building;
    for (const std::string& line : lines) {
        boost::system::error_code broken;  // the encoder wrote it
        json::value parsed = parsedText(line, broken);
        if (parsed.is_object()) building.take(parsed.get_object());
    }
    return building.take();
}

}  // namespace stategraph::serve
