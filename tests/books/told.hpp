#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include <stategraph/serve/protocol.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/stream.hpp>

// The third book: what a client has read of one run, in any of the server's protocols.
namespace books {

namespace sg = stategraph;
namespace serve = stategraph::serve;
namespace json = boost::json;

inline std::string textAt(const json::object& object, std::string_view member) {
    const json::value* const found = object.if_contains(member);
    if (found == nullptr || found->is_null()) return {};
    return found->is_string() ? std::string(found->get_string()) : json::serialize(*found);
}

/// A server that tells the texts of errors, so that they can be compared.
inline std::unique_ptr<serve::Server> makeServer() {
    serve::ServerOptions options;
    options.show_errors = true;
    return std::make_unique<serve::Server>(std::move(options));
}

struct Told {
    std::map<std::string, std::string> results;  // of calls, by their ids; "denied" if the protocol has no text for it
    std::set<std::string> questions;             // ids of calls, or of questions that are not about a call
    std::string status;                          // how the run ended; empty: that was not told
    std::string error;
    std::string all;  // the lines, for messages

    /// Reads a line of the protocol.
    void read(const std::string& protocol, const json::object& line) {
        all += "    " + json::serialize(line) + "\n";
        if (protocol == "steps") {
            readStep(line);
        } else if (protocol == "ui") {
            readUi(line);
        } else {
            readEvent(line);
        }
    }

private:
    void readStep(const json::object& line) {
        const std::string event = textAt(line, "event");
        if (event == "finish") status = textAt(line, "status");
        if (event == "error") error = textAt(line, "message");
        if (event == "tool-call-approval") questions.insert(textAt(line, "toolCallId"));
        if (event == "question") questions.insert(textAt(line, "interruptId"));
    }
    void readUi(const json::object& line) {
        const std::string type = textAt(line, "type");
        if (type == "finish") status = textAt(line.at("messageMetadata").as_object(), "status");
        if (type == "error") error = textAt(line, "errorText");
        if (type == "data-question") questions.insert(textAt(line, "id"));
        if (type == "tool-approval-request" || type == "tool-input-available")
            questions.insert(textAt(line, "toolCallId"));  // a client's tool has its call as the question
        if (type == "tool-output-available") results[textAt(line, "toolCallId")] = textAt(line, "output");
        if (type == "tool-output-error") results[textAt(line, "toolCallId")] = textAt(line, "errorText");
        if (type == "tool-output-denied") results[textAt(line, "toolCallId")] = "denied";
    }
    void readEvent(const json::object& line) {
        const json::value& data = line.at("data");
        if (textAt(line, "mode") == "runs") {
            if (textAt(data.as_object(), "event") != "end") return;
            status = textAt(data.as_object(), "status");
            error = textAt(data.as_object(), "error");
        }
        if (const json::value* const asked = line.if_contains("interrupts")) readQuestions(*asked);
        readResults(data);
    }
    void readQuestions(const json::value& asked) {
        for (const json::value& each : asked.as_array()) {
            const json::object* const value = each.as_object().at("value").if_object();
            const bool is_of_call = value != nullptr && value->contains("call_id");
            const bool is_doubt = is_of_call && textAt(*value, "type") == "tool-doubt";
            questions.insert(is_of_call && !is_doubt ? textAt(*value, "call_id") : textAt(each.as_object(), "id"));
        }
    }
    void readResults(const json::value& data) {
        if (const auto* const list = data.if_array()) {
            for (const json::value& each : *list) readResults(each);
        }
        const auto* const object = data.if_object();
        if (object == nullptr) return;
        if (const auto* result = object->if_contains("result"); result != nullptr && result->is_object())
            results[textAt(result->get_object(), "call_id")] = textAt(result->get_object(), "output");
        for (const auto& member : *object) readResults(member.value());
    }
};

/// The protocols of the server.
inline std::vector<serve::Protocol> protocols() {
    return {serve::ownEvents(), serve::stepEvents(), serve::uiMessages()};
}

/// What a client of a protocol would read of a run's events.
class Listener {
public:
    Listener(sg::StreamHub& hub, const std::string& thread, const serve::Protocol& protocol)
        : protocol_(protocol), encoder_(protocol.encoder()), events_(hub.subscribe(thread, options(protocol))) {}

    /// Everything until now.
    Told heard() {
        Told told;
        serve::Closing closing;
        bool is_over = false;
        std::vector<std::string> lines;
        encoder_->open({}, lines);
        while (const auto event = events_.next(std::chrono::milliseconds(0))) {
            if (const auto end = sg::endOf(*event)) {
                closing = {end->ending, end->error};
                is_over = true;
            }
            if (protocol_.modes.has(event->mode)) encoder_->take(*event, lines);
        }
        if (is_over) encoder_->close(closing, lines);
        for (const std::string& line : lines) told.read(protocol_.name, json::parse(line).as_object());
        return told;
    }

private:
    static sg::SubscribeOptions options(const serve::Protocol& protocol) {
        sg::SubscribeOptions options;
        options.modes = protocol.modes;
        options.modes = options.modes | sg::StreamMode::runs;
        options.subgraphs = true;
        options.capacity = 1U << 20U;
        options.until = sg::Until::run_end;
        return options;
    }

    const serve::Protocol& protocol_;
    std::unique_ptr<serve::Encoder> encoder_;
    sg::Subscription events_;
};

}  // namespace books
