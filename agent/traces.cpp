#include "agent/traces.hpp"

#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>

namespace stategraph::agent::detail {

namespace {

using Attributes = std::vector<SpanAttribute>;
using Members = std::map<std::string, Value>;
using std::chrono::steady_clock;

template <class T>
void addIf(Attributes& attributes, const char* name, const std::optional<T>& value) {
    if (value) attributes.emplace_back(name, Value(*value));
}
void addIf(Attributes& attributes, const char* name, const std::string& text) {
    if (!text.empty()) attributes.emplace_back(name, Value(text));
}
void addIf(Attributes& attributes, const char* name, std::int64_t count) {
    if (count > 0) attributes.emplace_back(name, Value(count));
}

/// Returns a part in the form of the conventions; none if it has no content for readers.
std::optional<Members> partOf(const model::Part& part) {
    if (const auto* const text = std::get_if<model::Text>(&part))
        return Members{{"type", Value("text")}, {"content", Value(text->text)}};
    if (const auto* const thought = std::get_if<model::Reasoning>(&part))
        return Members{{"type", Value("reasoning")}, {"content", Value(thought->text)}};
    if (const auto* const file = std::get_if<model::File>(&part)) {
        return Members{{"type", Value(file->url.empty() ? "blob" : "uri")},
                       {"mime_type", Value(file->media_type)},
                       {file->url.empty() ? "content" : "uri", Value(file->url)}};  // bytes are left out
    }
    return {};
}

/// Returns a reason as the conventions have it.
std::string reasonOf(model::FinishReason reason) {
    if (reason == model::FinishReason::tool_calls) return "tool_call";
    if (reason == model::FinishReason::content_filter) return "content_filter";
    return model::toString(reason);
}

Members memberOf(const model::Message& message) {
    std::vector<Members> parts;
    for (const model::Part& each : message.content) {
        if (auto part = partOf(each)) parts.push_back(std::move(*part));
    }
    for (const model::ToolCall& call : message.calls) {
        parts.push_back({{"type", Value("tool_call")},
                         {"id", Value(call.id.empty() ? call.provider_id : call.id)},
                         {"name", Value(call.name)},
                         {"arguments", Value(call.arguments)}});
    }
    if (message.result) {
        parts.push_back({{"type", Value("tool_call_response")},
                         {"id", Value(message.result->call_id)},
                         {"response", message.result->output}});
    }
    Members member{{"role", Value(message.role)}, {"parts", Value(parts)}};
    if (message.finish_reason) member["finish_reason"] = Value(reasonOf(*message.finish_reason));
    return member;
}

Value textOf(std::span<const model::Message> messages) {
    std::vector<Members> all;
    for (const model::Message& each : messages) all.push_back(memberOf(each));
    return Value(Value(all).toJson());
}

void addRequest(Attributes& attributes, const model::ModelName& name, const model::Request& request, bool has_content) {
    attributes.emplace_back("gen_ai.operation.name", Value("chat"));
    attributes.emplace_back("gen_ai.provider.name", Value(name.provider.empty() ? "unknown" : name.provider));
    addIf(attributes, "gen_ai.request.model", name.model);
    addIf(attributes, "server.address", name.host);
    addIf(attributes, "server.port", name.port);
    const model::Settings& settings = request.settings;
    addIf(attributes, "gen_ai.request.max_tokens", settings.max_output_tokens);
    addIf(attributes, "gen_ai.request.temperature", settings.temperature);
    addIf(attributes, "gen_ai.request.top_p", settings.top_p);
    addIf(attributes, "gen_ai.request.seed", settings.seed);
    if (!settings.stop_sequences.empty())
        attributes.emplace_back("gen_ai.request.stop_sequences", Value(settings.stop_sequences));
    if (request.output) attributes.emplace_back("gen_ai.output.type", Value("json"));
    if (!has_content) return;
    attributes.emplace_back("gen_ai.input.messages", textOf(request.messages));
    if (request.instructions.empty()) return;
    const std::vector<Members> parts{{{"type", Value("text")}, {"content", Value(request.instructions)}}};
    attributes.emplace_back("gen_ai.system_instructions", Value(Value(parts).toJson()));
}

void addReply(Attributes& attributes, const model::Reply& reply, const model::Model& model, const model::Prices& prices,
              bool has_content) {
    addIf(attributes, "gen_ai.response.id", reply.response_id);
    addIf(attributes, "gen_ai.response.model", reply.model);
    const model::Message& message = reply.message;
    if (message.finish_reason) {
        attributes.emplace_back("gen_ai.response.finish_reasons",
                                Value(std::vector<std::string>{reasonOf(*message.finish_reason)}));
    }
    if (message.usage) {
        attributes.emplace_back("gen_ai.usage.input_tokens", Value(message.usage->input_tokens));
        attributes.emplace_back("gen_ai.usage.output_tokens", Value(message.usage->output_tokens));
        addIf(attributes, "gen_ai.usage.cache_read.input_tokens", message.usage->cached_tokens);
        addIf(attributes, "gen_ai.usage.cache_creation.input_tokens", message.usage->cache_write_tokens);
        addIf(attributes, "gen_ai.usage.reasoning.output_tokens", message.usage->reasoning_tokens);
        const model::Cost cost = model::costOf(model::usageOf(reply, model), prices);
        if (cost.unpriced.empty())
            attributes.emplace_back("gen_ai.usage.cost", Value(std::strtod(cost.money.text().c_str(), nullptr)));
    }
    if (has_content) attributes.emplace_back("gen_ai.output.messages", textOf(std::span(&message, 1)));
}

/// Says what failed, and adds its kind.
std::string failureUnder(Attributes& attributes) {
    std::string kind = "error";
    std::string text;
    try {
        throw;
    } catch (const model::ModelError& error) {
        if (error.status() != 0) kind = std::to_string(error.status());
        text = error.what();
    } catch (const CancelledError& error) {
        kind = "cancelled";
        text = error.message();
    } catch (const std::exception& error) {
        text = error.what();
    } catch (...) {
        text = "unknown error";
    }
    attributes.emplace_back("error.type", Value(kind));
    return text.empty() ? kind : text;
}

Task<model::Reply> askObserved(std::shared_ptr<const model::Model> model, model::Request request,
                               const model::Asking& asking, Traced traced, bool has_content) {
    const model::ModelName name = model->name();
    Attributes attributes;
    addRequest(attributes, name, request, has_content);
    const std::string called = name.model.empty() ? "chat" : "chat " + name.model;
    const auto began = steady_clock::now();
    const auto report = [&](std::string_view error) {
        reportOperation(traced.runtime, {.name = called,
                                         .is_remote = true,
                                         .duration = steady_clock::now() - began,
                                         .error = error,
                                         .attributes = attributes});
    };
    try {
        Task<model::Reply> asked = model->ask(std::move(request), asking);
        model::Reply reply = co_await std::move(asked);
        addReply(attributes, reply, *model, traced.prices, has_content);
        report({});
        co_return reply;
    } catch (...) {
        report(failureUnder(attributes));
        throw;
    }
}

}  // namespace

Task<model::Reply> askModel(std::shared_ptr<const model::Model> model, model::Request request,
                            const model::Asking& asking, Traced traced) {
    const Interest interest = interestIn(traced.runtime);
    if (interest == Interest::none) return model->ask(std::move(request), asking);
    return askObserved(std::move(model), std::move(request), asking, traced, interest == Interest::content);
}

void describeAgent(const Plan& plan, Runtime& runtime) {
    if (interestIn(runtime) == Interest::none) return;
    const std::string& name = plan.options.name;
    Attributes attributes{{"gen_ai.operation.name", Value("invoke_agent")}};
    addIf(attributes, "gen_ai.provider.name", plan.options.model->name().provider);
    addIf(attributes, "gen_ai.agent.name", name);
    addIf(attributes, "gen_ai.conversation.id", std::string(runtime.threadId()));
    describeRun(runtime, name.empty() ? "invoke_agent" : "invoke_agent " + name, attributes);
}

void describeCall(const Tool& tool, const model::ToolCall& call, const Value& arguments, Runtime& runtime) {
    const Interest interest = interestIn(runtime);
    if (interest == Interest::none) return;
    Attributes attributes{{"gen_ai.operation.name", Value("execute_tool")},
                          {"gen_ai.tool.name", Value(tool.name())},
                          {"gen_ai.tool.type", Value("function")},
                          {"gen_ai.tool.call.id", Value(call.id)}};
    addIf(attributes, "gen_ai.tool.description", tool.description.description);
    if (interest == Interest::content) attributes.emplace_back("gen_ai.tool.call.arguments", Value(arguments.toJson()));
    describeTask(runtime, "execute_tool " + tool.name(), attributes);
}

model::Message describedResult(model::Message&& message, Runtime& runtime) {
    const Interest interest = interestIn(runtime);
    Attributes attributes;
    if (interest != Interest::none && message.result->is_error)
        attributes.emplace_back("error.type", Value("tool_error"));
    if (interest == Interest::content)
        attributes.emplace_back("gen_ai.tool.call.result", Value(message.result->text()));
    if (!attributes.empty()) describeTask(runtime, {}, attributes);
    return std::move(message);
}

}  // namespace stategraph::agent::detail
