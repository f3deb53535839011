// EXPECT: stategraph: the table of this type has no such member
#include <stategraph/partial.hpp>

namespace sg = stategraph;

struct Report {
    std::string title = {};
    static constexpr auto fields() { return sg::fields<&Report::title>(); }
};
struct Other {
    std::string title = {};
};

auto title(const sg::Partial<Report>& report) { return report.text<&Other::title>(); }
