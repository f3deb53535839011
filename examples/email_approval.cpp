// An expense waits until somebody opens a link of an e-mail. The link is opened days later, in another process.
//
//     START ──► draw ──► mail ──► approve ──► pay ──► END
//                                    └──────────────► END
//
// `draw` makes a secret, which is stored; `mail` sends it once; `approve` asks and stops the run. The web server that
// gets the link calls this program, or does what `open` does below.
//
//   email_approval submit EXPENSE EURO     begins the thread EXPENSE, and writes the e-mail to the folder outbox
//   email_approval open 'QUERY OF THE LINK'
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <stategraph/sqlite_saver.hpp>
#include <stategraph/stategraph.hpp>

namespace sg = stategraph;

struct Expense {
    std::string name = {};
    int euro = 0;
    std::string secret = {};
    bool is_paid = false;
    static constexpr auto channels() {
        return sg::channels<&Expense::name, &Expense::euro, &Expense::secret, &Expense::is_paid>();
    }
};

// [begin nodes]
sg::Update<Expense> draw(const Expense&) {
    std::random_device random;  // of the operating system
    std::ostringstream secret;
    for (int i = 0; i < 4; ++i) secret << std::hex << random();
    return sg::set<&Expense::secret>(secret.str());
}

sg::Update<Expense> mail(const Expense& expense, sg::Runtime& runtime) {
    runtime.once("mail", [&] {  // a run that is repeated after a crash does not send it again
        std::filesystem::create_directory("outbox");
        std::ofstream("outbox/" + expense.name)
            << "https://example.org/open?expense=" << expense.name << "&secret=" << expense.secret << "&pay=yes\n";
    });
    return {};
}

sg::Command<Expense> approve(const Expense& expense, sg::Runtime& runtime) {
    const bool pays = sg::interrupt<bool>(runtime, "Pay " + std::to_string(expense.euro) + " euro?");
    return {.go_to = {pays ? "pay" : sg::END}};
}

sg::Update<Expense> pay(const Expense&) { return sg::set<&Expense::is_paid>(true); }
// [end nodes]

sg::CompiledGraph<Expense> expenses() {
    sg::StateGraph<Expense> graph;
    graph.addNode("draw", draw).addNode("mail", mail).addNode("pay", pay);
    graph.addNode("approve", approve, {.ends = {"pay", sg::END}});
    graph.addEdge(sg::START, "draw").addEdge("draw", "mail").addEdge("mail", "approve").addEdge("pay", sg::END);
    return graph.compile({.checkpointer = std::make_shared<sg::SqliteSaver>("expenses.db")});
}

// "a=1&b=2" as a map. Names and secrets here have no characters that a link must escape.
std::map<std::string, std::string> parse(const std::string& query) {
    std::map<std::string, std::string> members;
    std::istringstream in(query.substr(query.find('?') + 1));
    for (std::string member; std::getline(in, member, '&');) {
        const auto equals = member.find('=');
        if (equals != std::string::npos) members[member.substr(0, equals)] = member.substr(equals + 1);
    }
    return members;
}

// [begin open]
// Takes the same time wherever two texts differ, so that a secret cannot be guessed letter by letter.
bool isSame(const std::string& a, const std::string& b) {
    unsigned differs = a.size() == b.size() ? 0U : 1U;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) differs |= static_cast<unsigned>(a[i] ^ b[i]);
    return differs == 0;
}

std::string open(const std::string& link) {
    const auto app = expenses();
    auto query = parse(link);
    const sg::RunConfig config{.thread_id = query["expense"]};
    if (query["expense"].empty()) return "This link is not valid.";
    const auto waiting = app.getState({.thread_id = config.thread_id});
    if (waiting.values.secret.empty() || !isSame(waiting.values.secret, query["secret"])) {
        return "This link is not valid.";  // the same for an expense that does not exist
    }
    if (waiting.interrupts().empty()) return "This was answered already.";
    // Of two that open the link at the same time one answers, and the other gets an error.
    const auto result = app.invoke(sg::resume(query["pay"] == "yes"), config);
    return result.values.is_paid ? "Thank you, it is paid." : "Thank you, it is not paid.";
}
// [end open]

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() == 3 && arguments[0] == "submit") {
        const auto asked =
            expenses().invoke({sg::set<&Expense::name>(arguments[1]), sg::set<&Expense::euro>(std::stoi(arguments[2]))},
                              {.thread_id = arguments[1]});
        std::cout << asked.status << ": " << asked.interrupts.at(0).value << "\n";
    } else if (arguments.size() == 2 && arguments[0] == "open") {
        std::cout << open(arguments[1]) << "\n";
    } else {
        std::cerr << "usage: email_approval submit EXPENSE EURO | open LINK\n";
        return 2;
    }
}
