#include <algorithm>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <stategraph/compatibility.hpp>
#include <stategraph/error.hpp>
#include <stategraph/graph_description.hpp>
#include <stategraph/value.hpp>

#include "inspect/commands.hpp"
#include "inspect/incompatible.hpp"
#include "inspect/views.hpp"

// `check --graph`: whether the threads of a store can be resumed with a graph that is known by its description.
namespace stategraph::inspect {
namespace {

// A description is far smaller.
constexpr std::size_t description_bytes_max = std::size_t{64} << 20U;

std::string read(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw UsageError{"the file '" + file + "' cannot be read; --graph names a file with a description"};
    std::string text(description_bytes_max + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (in.bad() || text.size() > description_bytes_max)
        throw UsageError{"the file '" + file + "' cannot be read, or has more than 64 MiB"};
    return text;
}

// One description, or a list of them. A graph has at least one node.
std::vector<GraphDescription> graphsOf(const std::string& file) {
    std::string why = "it has no nodes";
    try {
        const Value value = parseJson(read(file));
        const bool is_list = Decoder(value.bytes()).peek() == Decoder::Type::array;
        auto graphs = is_list ? value.as<std::vector<GraphDescription>>()
                              : std::vector<GraphDescription>{value.as<GraphDescription>()};
        const auto hasNodes = [](const GraphDescription& graph) { return !graph.nodes.empty(); };
        if (!graphs.empty() && std::ranges::all_of(graphs, hasNodes)) return graphs;
    } catch (const WrongTypeError& error) {
        why = error.message();
    }
    throw UsageError{"the file '" + file + "' has no description of a graph, which is toJson(describeGraph(app)) or " +
                     "toJson(describeGraphs(app)): " + why};
}

}  // namespace

Exit checkGraph(Call& call, const std::string& file) {
    const std::vector<GraphDescription> graphs = graphsOf(file);
    std::vector<IncompatibleView> views;
    for (IncompatibleThread& thread :
         checkCompatibility(call.saver, graphs, {.lost_channels = call.arguments.has("--lost-channels")})) {
        views.push_back({std::move(thread.thread_id), thread.checkpoint_id.toString(), std::move(thread.checkpoint_ns),
                         std::move(thread.node), std::move(thread.channel), std::move(thread.why)});
    }
    return showIncompatible(call, views,
                            call.arguments.has("--lost-channels")
                                ? " threads cannot be resumed with this graph, or have channels that it does not have"
                                : " threads cannot be resumed with this graph, as far as its description says");
}

Exit showIncompatible(Call& call, const std::vector<IncompatibleView>& views, std::string_view sum) {
    auto& out = call.terminal.out();
    if (call.asJson()) {
        out << toJson(views) << '\n';
    } else {
        for (const auto& view : views)
            out << call.terminal.in(Colour::red, plain(view.thread_id)) << "  " << plain(view.why) << '\n';
        out << views.size() << sum << '\n';
    }
    return views.empty() ? Exit::done : Exit::no;
}

}  // namespace stategraph::inspect
