#pragma once
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include <stategraph/async.hpp>
#include <stategraph/command.hpp>
#include <stategraph/compiled_graph.hpp>
#include <stategraph/config.hpp>
#include <stategraph/stream.hpp>
#include <stategraph/value.hpp>

// Runs of compiled graphs without the types of their states, for protocols that watch what happens in a run.
namespace stategraph::serve::detail {

/// What a run begins with. Nothing given: it continues what is due.
struct GraphStart {
    /// The graph's input, {channel: value}.
    std::optional<Value> input = {};
    /// A Command: the answer to the open question, or answers by id; an update; where to go.
    std::optional<Value> resume = {};
    std::optional<std::vector<Answer>> answers = {};
    std::optional<Value> update = {};
    Targets go_to = {};

    bool isCommand() const noexcept { return resume || answers || update || !go_to.empty(); }
};

/// Is called with each event of a run, where it happens.
using TakeEvent = std::function<void(const StreamEvent& event)>;
/// Runs once, and returns what the run ended with; the arguments are kept until then.
template <class End>
using GraphWork = std::function<Task<End>(RunConfig config, StreamOptions options, TakeEvent take)>;

// A coroutine keeps arguments that are passed by value as long as it runs.
template <class End, class Graph, class In, class Show>
Task<End> watchedRun(Graph graph, In input, RunConfig config, StreamOptions options, TakeEvent take, Show show) {
    auto stream = graph.asyncStream(std::move(input), config, options);
    for (;;) {
        Task<std::optional<StreamEvent>> next = stream.next();
        const std::optional<StreamEvent> event = co_await std::move(next);
        if (!event) break;
        take(*event);
    }
    End end = show(stream.outcome());
    co_return end;
}

/// Returns the run of a graph that begins so. `read` makes the graph's Update of an input, `readUpdate` that of a
/// Command, and `show` an End of the outcome. Errors: what the two throw for values that do not fit.
template <class End, class S, class Input, class Output, class Read, class ReadUpdate, class Show>
GraphWork<End> graphWork(const CompiledGraph<S, Input, Output>& graph, GraphStart start, const Read& read,
                         const ReadUpdate& readUpdate, Show show) {
    const auto work = [&]<class In>(In input) -> GraphWork<End> {
        return [graph, input = std::move(input), show](RunConfig config, StreamOptions options, TakeEvent take) {
            return watchedRun<End>(graph, input, std::move(config), options, std::move(take), show);
        };
    };
    if (start.input) return work(read(*start.input));
    if (!start.isCommand()) return work(RESUME);
    Command<S> command;
    if (start.resume) command.resume = *std::move(start.resume);
    if (start.answers) command.answers = Answers(*std::move(start.answers));
    if (start.update) command.update = readUpdate(*start.update);
    command.go_to = std::move(start.go_to);
    return work(std::move(command));
}

}  // namespace stategraph::serve::detail
