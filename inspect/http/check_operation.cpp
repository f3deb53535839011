#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include <stategraph/compatibility.hpp>
#include <stategraph/error.hpp>
#include <stategraph/export.hpp>
#include <stategraph/memory_saver.hpp>

#include "inspect/app/row_messages.hpp"
#include "inspect/http/api_call.hpp"
#include "inspect/http/row_answers.hpp"

// check: whether the graphs of this program can resume the threads of a store, its own or another one.
namespace stategraph::inspect {
namespace {

constexpr std::size_t heads_a_request = 256;
constexpr std::size_t given_bytes_max = std::size_t{256} << 20U;

using Graphs = std::map<std::string, std::shared_ptr<ServedGraph>>;

Graphs graphsOf(const ApiCall& call, const std::string& name) {
    Graphs graphs = call.api.graphs();
    if (graphs.empty()) throw InvalidArgumentError("this program serves no graph (inspect::Server::add)");
    if (name.empty()) return graphs;
    const auto found = graphs.find(name);
    if (found != graphs.end()) return {*found};
    std::string names;
    for (const auto& [each, graph] : graphs) names += (names.empty() ? "" : ", ") + each;
    throw InvalidArgumentError("there is no graph '" + name + "' here; there are: " + names);
}

// Adds the thread if no graph can resume it, with the reason of the first one.
void check(BaseCheckpointSaver& saver, const std::string& thread_id, const Graphs& graphs, rows::Checked& checked) {
    ++checked.count;
    std::optional<IncompatibleThread> reason;
    for (const auto& [name, graph] : graphs) {
        std::vector<IncompatibleThread> found = graph->check(saver, {.thread_id = thread_id});
        if (found.empty()) return;
        if (!reason) reason = std::move(found.front());
    }
    checked.threads.push_back({std::move(reason->thread_id), reason->checkpoint_id, std::move(reason->checkpoint_ns),
                               std::move(reason->node), std::move(reason->channel), std::move(reason->why)});
}

rows::Checked checkGiven(const rows::Check& wanted, const Graphs& graphs) {
    MemorySaver given;
    std::istringstream lines(wanted.lines);
    rows::Checked checked;
    bool has_more = !wanted.lines.empty();
    while (has_more) {
        const ThreadRows thread = importThread(given, lines, {.bytes_max = given_bytes_max});
        check(given, thread.thread_id, graphs, checked);
        given.deleteThread(thread.thread_id);
        has_more = (lines >> std::ws).peek() != std::istringstream::traits_type::eof();
    }
    return checked;
}

rows::Checked checkOwn(BaseCheckpointSaver& saver, rows::Check wanted, const Graphs& graphs) {
    rows::Checked checked;
    const auto heads = saver.list(
        {.checkpoint_ns = "", .limit = heads_a_request, .heads = true, .after_thread_id = std::move(wanted.after)});
    for (const ListedCheckpoint& head : heads) check(saver, head.thread_id, graphs, checked);
    if (heads.size() == heads_a_request) checked.next = heads.back().thread_id;
    return checked;
}

}  // namespace

serve::HandlerAnswer checkThreads(ApiCall& call) {
    try {
        auto wanted = rows::decoded<rows::Check>(call.request.body);
        const Graphs graphs = graphsOf(call, wanted.graph);
        return rowsAnswer(rows::encoded(wanted.lines.empty() ? checkOwn(call.api.saver(), std::move(wanted), graphs)
                                                             : checkGiven(wanted, graphs)));
    } catch (const Error& error) {
        return rowsFailure(error);
    }
}

}  // namespace stategraph::inspect
