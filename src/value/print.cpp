#include <stategraph/print.hpp>

#include <ostream>

namespace stategraph::detail {

void printResult(std::ostream& out, Status status, std::string_view values_json,
                 const std::vector<Interrupt>& interrupts) {
    out << R"({"status":")" << status << R"(","values":)" << values_json;
    if (!interrupts.empty()) {
        out << R"(,"interrupts":[)";
        const char* separator = "";
        for (const Interrupt& interrupt : interrupts) {
            out << separator << R"({"id":")" << interrupt.id.toString() << R"(","value":)" << interrupt.value << '}';
            separator = ",";
        }
        out << ']';
    }
    out << '}';
}

void printText(std::ostream& out, std::string_view text) { out << text; }

}  // namespace stategraph::detail
