#include <doctest/doctest.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/spans.hpp>

#include "tests/agent/tools.hpp"

// Each observer of a run receives what it wants: contents, or facts alone.
using namespace tools;

namespace {

class KeptSpans final : public sg::SpanExporter {
public:
    void take(sg::Span&& span) override {
        const std::lock_guard lock(mutex_);
        spans_.push_back(std::move(span));
    }
    /// How many attributes have this text in their names and, as JSON, in their values.
    int count(const std::string& name, const std::string& text) const {
        const std::lock_guard lock(mutex_);
        int found = 0;
        for (const sg::Span& span : spans_) {
            for (const auto& [each, value] : span.attributes)
                found += each.find(name) != std::string::npos && value.toJson().find(text) != std::string::npos;
        }
        return found;
    }

private:
    mutable std::mutex mutex_;
    std::vector<sg::Span> spans_;
};

}  // namespace

TEST_CASE("of two observers of a run, only the one that wants contents receives them") {
    for (const bool is_graphs : {true, false}) {
        CAPTURE(is_graphs);
        const auto with = std::make_shared<KeptSpans>();
        const auto without = std::make_shared<KeptSpans>();
        const auto open = std::make_shared<sg::SpanObserver>(with, sg::SpanObserverOptions{.content = true});
        const auto closed = std::make_shared<sg::SpanObserver>(without, sg::SpanObserverOptions{.content = false});
        const auto ledger = std::make_shared<Ledger>();
        agent::Options options{
            .model = model::scripted({model::assistant({call("c1", "secret")}), model::assistant("secret done")}),
            .instructions = "secret instructions",
            .tools = {work(ledger)}};
        options.compile.observer = is_graphs ? open : closed;
        agent::Agent(options).say("secret question", {.observer = is_graphs ? closed.get() : open.get()});
        for (const char* const name : {"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions",
                                       "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"})
            CHECK(with->count(name, "secret") > 0);
        CHECK(without->count("gen_ai.operation.name", "chat") == 2);
        CHECK(without->count("gen_ai.tool.name", "work") == 1);
        CHECK(without->count("", "secret") == 0);
    }
}
