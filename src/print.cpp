#include <stategraph/print.hpp>

#include <ostream>

namespace stategraph::detail {

void printResult(std::ostream& out, Status status, const Value& values, const std::vector<Interrupt>& interrupts) {
    out << R"({"status":")" << status << R"(","values":)" << values;
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

}  // namespace stategraph::detail
