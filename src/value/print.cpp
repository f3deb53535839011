#include <stategraph/print.hpp>

#include <ostream>

namespace stategraph::detail {

void printResult(std::ostream& out, Status status, std::string_view values_json,
                 const std::vector<Interrupt>& interrupts) {
    out << R"({"status":")" << status << R"(","values":)" << values_json;
    if (!interrupts.empty()) out << R"(,"interrupts":)" << interrupts;
    out << '}';
}

void printText(std::ostream& out, std::string_view text) { out << text; }

}  // namespace stategraph::detail

namespace stategraph {

std::ostream& operator<<(std::ostream& out, const Interrupt& interrupt) {
    return out << R"({"id":")" << interrupt.id << R"(","value":)" << interrupt.value << '}';
}

std::ostream& operator<<(std::ostream& out, const std::vector<Interrupt>& interrupts) {
    const char* separator = "";
    out << '[';
    for (const Interrupt& interrupt : interrupts) {
        out << separator << interrupt;
        separator = ",";
    }
    return out << ']';
}

}  // namespace stategraph
