// Showing a model's JSON answer while it is being written: which members are complete, which are growing, and the whole
// struct at the end.
//
//     deltas of text ──► Partial<Report> ──► what a user interface shows ──► Report
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/json.hpp>
#include <stategraph/partial.hpp>
#include <stategraph/partial_display.hpp>

namespace sg = stategraph;

struct Report {
    std::string title = {};
    std::vector<std::string> findings = {};
    int confidence = 0;
    static constexpr auto fields() { return sg::fields<&Report::title, &Report::findings, &Report::confidence>(); }
};

void showReport() {
    // The deltas of a model: the text is split anywhere, and is in a code fence.
    const std::string_view deltas[] = {"Here you are:\n```json\n{\"title\": \"Tea ",
                                       "and coff",
                                       "ee\", \"findings\": [\"Tea is h",
                                       "ot\", \"Coffee\\u0020",
                                       "is hot\"], \"confidence\": 9",
                                       "7}\n```\n"};
    sg::Partial<Report> report({.clean = true});
    for (const std::string_view delta : deltas) {
        report.feed(delta);
        std::cout << report.state() << ": title " << report.progress<&Report::title>() << " \""
                  << report.text<&Report::title>() << "\"";
        if (const auto* findings = report.find<&Report::findings>()) std::cout << ", findings " << *findings;
        if (const auto confidence = report.get<&Report::confidence>()) std::cout << ", confidence " << *confidence;
        std::cout << "\n";
    }
    if (const auto whole = report.complete()) std::cout << "complete, with " << whole->findings.size() << " findings\n";
}

void showProcesses() {
    sg::PartialDisplay display;
    display.replace("plan", R"({"steps":["sea)");
    display.replace("plan", R"(rch","wri)");
    display.append("search", {{"query", "tea"}});  // an event stays as it is
    display.replace("plan", R"(te"]})");           // after it the text continues in a new item
    for (std::size_t i = 0; i < display.size(); ++i) {
        std::cout << "  " << display[i].name << " " << display[i].value << "\n";
    }
}

int main() {
    showReport();
    std::cout << "\nWhat the list of two processes shows:\n";
    showProcesses();
}
