#include <stategraph/serve/endpoint.hpp>

#include <algorithm>
#include <map>

#include <boost/json.hpp>

#include <stategraph/error.hpp>
#include <stategraph/fields.hpp>

#include "serve/told.hpp"

namespace stategraph::serve {

void Endpoint::send(const ThreadId& thread, const Value& /*body*/, bool /*steers*/) {
    throw InvalidArgumentError(
        "this endpoint takes no messages while a run is under way, because it holds no "
        "conversation; wait for the run's end, or stop it with the strategy \"interrupt\"",
        {.thread_id = thread.toString()});
}

}  // namespace stategraph::serve

namespace stategraph::serve::detail {

namespace {

struct GivenAnswer {
    std::optional<std::string> id = {};
    std::optional<std::string> key = {};
    Value value = {};
    static constexpr auto fields() {
        return stategraph::fields(field("id", &GivenAnswer::id), field("key", &GivenAnswer::key),
                                  field("value", &GivenAnswer::value));
    }
};
struct Answers {
    std::optional<Value> resume = {};
    std::optional<std::vector<GivenAnswer>> answers = {};
    static constexpr auto fields() {
        return stategraph::fields(field("resume", &Answers::resume), field("answers", &Answers::answers));
    }
};
struct Input {
    Value input = {};
    static constexpr auto fields() { return stategraph::fields(field("input", &Input::input)); }
};

}  // namespace

std::optional<Command<>> answersIn(const Value& body) {
    if (body.isNull()) return {};
    const auto given = body.asStrict<Answers>();
    if (given.resume && given.answers) throw InvalidArgumentError("give either \"resume\" or \"answers\", not both");
    if (!given.resume && !given.answers) return {};
    Command<> command;
    if (given.resume) {
        command.resume = *given.resume;
        return command;
    }
    std::vector<stategraph::Answer> answers;
    for (const GivenAnswer& answer : *given.answers) {
        if (answer.id.has_value() == answer.key.has_value()) {
            throw InvalidArgumentError("each of the answers names its question by \"id\" or by \"key\"");
        }
        if (answer.id) {
            answers.emplace_back(TaskId(*answer.id), answer.value);
        } else {
            answers.emplace_back(*answer.key, answer.value);
        }
    }
    command.answers = std::move(answers);
    return command;
}

Value inputIn(const Value& body, const EndpointOptions& options) {
    Value input = body.asStrict<Input>().input;
    checkInput(input, options);
    return input;
}

void checkInput(const Value& input, const EndpointOptions& options) {
    if (!options.input_channels) return;
    const std::vector<std::string>& allowed = *options.input_channels;
    for (const auto& [channel, value] : input.as<std::map<std::string, Value>>()) {
        if (std::ranges::find(allowed, channel) == allowed.end())
            throw InvalidArgumentError("clients may not write the channel '" + channel +
                                       "'; see EndpointOptions::input_channels");
    }
}

std::string jsonList(const std::vector<std::string>& items) {
    std::string all = "[";
    for (const std::string& item : items) all += (all.size() == 1 ? "" : ",") + item;
    return all + "]";
}

std::string schemaOfUpdate(const std::string& state) {
    boost::system::error_code broken;  // a schema that the library wrote
    boost::json::value schema = parsedText(state, broken);
    if (schema.is_object()) schema.get_object().erase("required");
    return boost::json::serialize(schema);
}

}  // namespace stategraph::serve::detail
