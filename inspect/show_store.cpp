#include <sstream>

#include <stategraph/error.hpp>
#include <stategraph/graph_description.hpp>
#include <stategraph/stats.hpp>

#include "inspect/commands.hpp"
#include "inspect/views.hpp"

// graph, stats and check: show a graph, the sizes of a store, and its damage.
namespace stategraph::inspect {
namespace {

void printGraph(Call& call, const GraphDescription& graph) {
    auto& out = call.terminal.out();
    const auto line = [&](const std::string& from, const std::string& arrow, const std::string& to) {
        out << "  " << plain(from) << call.terminal.in(Colour::dim, arrow) << plain(to) << '\n';
    };
    out << "nodes\n";
    for (const auto& node : graph.nodes) {
        std::string more = node.deferred ? "  deferred" : "";
        if (node.subgraph) more += "  a graph";
        if (!node.stored_as.empty()) more += "  stored as " + plain(node.stored_as);
        out << "  " << plain(node.name) << call.terminal.in(Colour::dim, more) << '\n';
    }
    out << "edges\n";
    for (const auto& edge : graph.edges) line(edge.from, " → ", edge.to);
    for (const auto& join : graph.joins) {
        std::string from;
        for (const auto& source : join.from) from += (from.empty() ? "" : " + ") + source;
        line(from, " → ", join.to);
    }
    for (const auto& branch : graph.branches) {
        if (!branch.ends) line(branch.from, " ⇢ ", "any node (router)");
        if (!branch.ends) continue;
        for (const auto& end : *branch.ends)
            line(branch.from, " ⇢ ", end.to + (end.label.empty() || end.label == end.to ? "" : " (" + end.label + ")"));
    }
    for (const auto& each : graph.gotos) {
        for (const auto& to : each.to) line(each.from, each.on_error ? " ⇢ on error " : " ⇢ goto ", to);
    }
    out << "channels\n";
    for (const auto& channel : graph.channels) {
        out << "  " << plain(channel.name) << "  "
            << call.terminal.in(Colour::dim, channel.reducer.empty() ? channel.kind : plain(channel.reducer)) << '\n';
    }
}

}  // namespace

Exit showGraph(Call& call) {
    const Config place = findCheckpoint(call.saver, call.arguments, call.place(0));
    const auto graph = readGraph(call.saver, place);
    if (!graph) {
        throw NotFound{
            "no description of this thread's graph is stored: it was made by a version of stategraph that stored none"};
    }
    if (call.asJson()) {
        call.terminal.out() << toJson(*graph) << '\n';
    } else {
        printGraph(call, *graph);
    }
    return Exit::done;
}

Exit showStats(Call& call) {
    StatsQuery query{.thread_id = {}, .threads = call.arguments.has("--threads")};
    const bool are_largest = call.arguments.value("--largest").has_value();
    if (!call.arguments.places().empty()) {
        if (are_largest) throw UsageError{"--largest is for all threads: leave out the thread"};
        query.thread_id = call.place(0);
        logsOf(call.saver, call.place(0));
    }
    const SaverStats stats =
        are_largest ? statsOfLargest(call.saver, call.arguments.number("--largest", 20, 1)) : call.saver.stats(query);
    if (call.asJson()) {
        call.terminal.out() << toJson(stats) << '\n';
    } else {
        std::ostringstream text;
        text << stats;
        // The line contains names of channels.
        std::string line;
        for (std::istringstream lines(text.str()); std::getline(lines, line);)
            call.terminal.out() << plain(line) << '\n';
        if (stats.stored_bytes) {
            call.terminal.out() << call.terminal.in(Colour::dim,
                                                    "stored_bytes: of everything that is stored, as the "
                                                    "storage holds it, which RocksDB compresses; the "
                                                    "others: of records, not compressed")
                                << '\n';
        }
        for (const ThreadStats& thread : stats.per_thread) {
            if (are_largest)
                call.terminal.out() << "thread " << plain(thread.thread_id) << ' ' << thread.bytes() << '\n';
        }
    }
    return Exit::done;
}

// Reads every record of every thread.
Exit checkStore(Call& call) {
    const auto file = call.arguments.value("--graph");
    const auto app = call.arguments.value("--app");
    if (file && app) throw UsageError{"check takes --graph or --app, not both"};
    if (!app && call.arguments.has("--name")) throw UsageError{"--name is the name of a graph of --app"};
    if (!file && call.arguments.has("--lost-channels"))
        throw UsageError{"--lost-channels compares with a description: give one with --graph FILE"};
    if (file) return checkGraph(call, *file);
    if (app) return checkApp(call, *app);
    const SaverStats stats = call.saver.stats({.thread_id = {}, .threads = false});
    std::vector<DamagedView> views;
    for (const DamagedThread& thread : stats.damaged) views.push_back({thread.thread_id, thread.why});
    auto& out = call.terminal.out();
    if (call.asJson()) {
        out << toJson(views) << '\n';
    } else {
        for (const auto& view : views)
            out << call.terminal.in(Colour::red, plain(view.thread_id)) << "  " << plain(view.why) << '\n';
        out << stats.threads << " threads read, " << views.size() << " damaged\n";
    }
    return views.empty() ? Exit::done : Exit::no;
}

}  // namespace stategraph::inspect
