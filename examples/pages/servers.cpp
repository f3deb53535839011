// What docs/serving.md, serving_chats.md, inspector.md and command_line.md show: graphs over HTTP, pages, the inspector
// inside a program, the command line for a saver of one's own. The program ends as soon as everything has started; with
// the argument `stay` its server serves until SIGTERM.
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// [begin serve]
#include <stategraph/serve/agent_endpoint.hpp>
#include <stategraph/serve/server.hpp>
#include <stategraph/serve/workflow_endpoint.hpp>
// [end serve]
// [begin inspect]
#include <stategraph/inspect/server.hpp>
// [end inspect]
// [begin command]
#include <stategraph/inspect/command.hpp>
// [end command]
#include <stategraph/model/scripted_model.hpp>
#include <stategraph/stategraph.hpp>
#include <stategraph/workflow/workflow.hpp>

// [begin serve]
namespace serve = stategraph::serve;
// [end serve]
namespace sg = stategraph;
namespace agent = stategraph::agent;
namespace model = stategraph::model;
namespace wf = stategraph::workflow;

struct Order {
    std::string item = {};
    static constexpr auto channels() { return sg::channels<&Order::item>(); }
};

sg::CompiledGraph<Order> makeApp(std::shared_ptr<sg::BaseCheckpointSaver> saver) {
    sg::StateGraph<Order> graph;
    graph.addNode("make", [](const Order&) -> sg::Update<Order> { return {}; });
    graph.addEdge(sg::START, "make").addEdge("make", sg::END);
    return graph.compile({.checkpointer = std::move(saver)});
}

std::string userOf(std::string_view authorization) { return authorization == "Bearer ada's token" ? "ada" : ""; }

serve::ServerOptions guarded() {
    serve::ServerOptions options;
    // [begin guard]
    options.authorize = [](const serve::RequestView& asked) -> serve::Admission {
        const std::string user = userOf(asked.header("Authorization"));  // your own function
        if (user.empty()) return {401, "sign in first"};
        if (!asked.thread().empty() && !asked.thread().starts_with(user + "-")) return {404, "there is no such thread"};
        return serve::Identity{.name = user};
    };
    // [end guard]
    return options;
}

serve::ServerOptions forStrangers() {
    // [begin public]
    serve::ServerOptions options;
    options.port = 8080;
    options.hosts = {"example.org", "127.0.0.1"};  // the second is for probes
    options.per_client.proxies = {"127.0.0.1"};
    options.per_client.requests = {.per_second = 10, .burst = 50};
    options.per_client.runs = {.per_second = 0.2, .burst = 10};
    options.per_client.stored_bytes = {.per_second = 1e3, .burst = 4e6};
    options.per_client.streams_max = 8;
    options.log = [](std::string_view line) { std::clog << std::string(line) + "\n"; };
    options.handle_signals = true;
    // [end public]
    return options;
}

serve::ServerOptions ownedByUsers() {
    serve::ServerOptions options;
    // [begin owned]
    options.owned = true;
    options.authorize = [](const serve::RequestView& asked) -> serve::Admission {
        const std::string user = userOf(asked.header("Authorization"));  // your own function
        if (user.empty()) return {401, "sign in first"};
        return serve::Identity{.name = user, .about = sg::Value("gold")};
    };
    // [end owned]
    return options;
}

void journal(std::string_view line) { std::cout << line << "\n"; }

serve::ServerOptions numbered(bool is_development) {
    serve::ServerOptions options;
    // [begin errors]
    options.log = [](std::string_view line) { journal(line); };  // your own function, for lines of JSON
    options.show_errors = is_development;                        // clients are told the texts
    // [end errors]
    return options;
}

/// Greets whoever asks.
sg::CompiledGraph<Order> greeting(const std::shared_ptr<sg::BaseCheckpointSaver>& saver) {
    sg::StateGraph<Order> graph;
    // [begin identity]
    graph.addNode("greet", [](const Order&, sg::Runtime& runtime) {
        return sg::set<&Order::item>("tea for " + runtime.context<serve::Identity>().name);
    });
    // [end identity]
    graph.addEdge(sg::START, "greet").addEdge("greet", sg::END);
    return graph.compile({.checkpointer = saver});
}

void serveGraphs(bool stays) {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const agent::Agent helper(
        {.model = model::scripted({model::assistant("Hello.")}), .compile = {.checkpointer = saver}});
    const auto graph = makeApp(saver);
    const auto workflow = wf::workflow<std::string>("orders")
                              .then(wf::step("make", [](const std::string& item) { return item; }))
                              .commit({.checkpointer = saver});
    const std::uint16_t port = stays ? 8080 : 0;
    // [begin serve]

    serve::Server server({.port = port, .handle_signals = true});  // on the loopback by default
    server.add("helper",
               serve::endpoint(helper, {.protocols = {serve::uiMessages(),
                                                      serve::stepEvents({.tools = {{"webSearch", "search"}}})}}));
    server.add("search", serve::endpoint(graph));            // any compiled graph
    server.add("orders", serve::endpoint(workflow.flow()));  // a workflow: its threads are its runs
    // [end serve]
    const std::string html = "<!doctype html><title>Helper</title>";
    // [begin page]
    server.page("/", "text/html; charset=utf-8", html);
    // [end page]
    // [begin ui]
    const auto ui = serve::uiMessages({
        .typed_tools = true,
        .reasoning = false,
        .sources = false,
        .error_text = [](const std::string&) { return std::string("Something went wrong."); },
    });
    // [end ui]
    // [begin ag_ui]
    server.add("talk", serve::endpoint(helper, {.protocols = {serve::agUiEvents()}}));
    // [end ag_ui]
    server.add("quiet", serve::endpoint(helper, {.protocols = {ui}}));
    std::cout << "three graphs are served\n";
    if (!stays) return;
    // [begin serve]
    server.wait();  // SIGTERM drains it
    // [end serve]
}

void inspectInside() {
    const auto saver = std::make_shared<sg::MemorySaver>();
    const auto app = makeApp(saver);
    // [begin inspect]

    sg::inspect::Server inspector(saver, {.write = true, .redact = {"*token*", "card.number"}});
    inspector.add("order", app);                  // by name; several graphs may share the saver
    const std::string address = inspector.url();  // http://127.0.0.1:41873/#k=…
    // [end inspect]
    std::cout << address.substr(0, address.find(':', 5)) << "\n";
}

std::shared_ptr<sg::BaseCheckpointSaver> openMySaver(const std::string& store, bool for_writing) {
    std::cout << "opens " << store << (for_writing ? " for writing\n" : "\n");
    auto saver = std::make_shared<sg::MemorySaver>();
    makeApp(saver).invoke({sg::set<&Order::item>("tea")}, {.thread_id = "order 7"});
    return saver;
}

// [begin command]

int runTool(int argc, const char* const* argv) {  // as main
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    return static_cast<int>(sg::inspect::runCommand(arguments, std::cout, std::cerr, {.open = openMySaver}));
}
// [end command]

int main(int argc, char** argv) {
    serveGraphs(argc > 1 && std::string(argv[1]) == "stay");
    inspectInside();
    const char* const arguments[] = {"tool", "show", "--store", "mine", "order 7", "--json"};
    if (runTool(6, arguments) == 0) std::cout << "the command succeeded\n";
}
