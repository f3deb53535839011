#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <stategraph/model/model.hpp>

#include "model/http/answer_draft.hpp"
#include "model/http/answer_reader.hpp"

// The events of an answer, read as a model of model/http reads them.
namespace answers {

struct Read {
    stategraph::model::Reply reply;
    /// Each piece that was reported: its kind, the number of its call, the name or the text, and "#" with the call's
    /// id.
    std::vector<std::string> told;
};

inline std::string lineOf(const stategraph::model::Delta& delta) {
    using Kind = stategraph::model::Delta::Kind;
    constexpr const char* kinds[] = {"text ", "reasoning ", "call ", "arguments ", "provider "};
    std::string line = kinds[static_cast<int>(delta.kind)];
    if (delta.kind == Kind::call || delta.kind == Kind::arguments) line += std::to_string(delta.call) + " ";
    line.append(delta.name).append(delta.text);
    if (delta.part != nullptr) line += delta.part->name;
    if (!delta.id.empty()) line.append("#").append(delta.id);
    return line;
}

/// Gives the events to a reader of the type Answer, which is created with the speaker, a listener and `more`.
template <class Answer, class... More>
Read readAs(const std::vector<std::string>& events, More&&... more) {
    Read out;
    const std::function<void(const stategraph::model::Delta&)> tell = [&](const stategraph::model::Delta& delta) {
        out.told.push_back(lineOf(delta));
    };
    stategraph::model::http::Listener listener(tell);
    Answer answer({"http://x", "key"}, listener, std::forward<More>(more)...);
    for (const std::string& event : events) answer.take("", event);
    out.reply = answer.finish();
    return out;
}

/// Returns what the reader throws for the events; fails the test if it takes them.
template <class ReadEvents>
stategraph::model::ModelError errorOf(ReadEvents read, const std::vector<std::string>& events) {
    try {
        (void)read(events);
    } catch (const stategraph::model::ModelError& error) {
        return error;
    }
    FAIL("no error");
    return {"", {}};
}
inline bool has(const stategraph::model::ModelError& error, const char* text) {
    return std::string(error.what()).find(text) != std::string::npos;
}

}  // namespace answers
