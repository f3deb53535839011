#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>

#include "inspect/commands.hpp"
#include "inspect/run_chart.hpp"

// chart: when the tasks of a run ran, as text.
namespace stategraph::inspect {
namespace {

constexpr std::size_t columns = 40;  // of the time

std::string timeOf(std::int64_t us) { return durationText(std::chrono::microseconds(us)); }

// A bar from its beginning to its end; one that has not ended has an arrow.
std::string drawn(const ChartBar& bar, std::int64_t length_us) {
    const auto column = [&](std::int64_t us) {
        return static_cast<std::size_t>(static_cast<double>(us) /
                                        static_cast<double>(std::max<std::int64_t>(1, length_us)) *
                                        static_cast<double>(columns));
    };
    const std::size_t begin = std::min(column(bar.begin_us), columns - 1);
    const std::size_t end = bar.took_us ? column(bar.begin_us + *bar.took_us) : columns;
    const std::size_t width = std::clamp<std::size_t>(end > begin ? end - begin : 1, 1, columns - begin);
    return std::string(begin, ' ') +
           std::string(width, bar.kind == "wait" ? '.'
                              : bar.took_us      ? '='
                                                 : '>') +
           std::string(columns - begin - width, ' ');
}

Colour colourOf(const ChartBar& bar) {
    if (bar.kind == "wait") return Colour::dim;
    if (bar.state == "failed") return Colour::red;
    return bar.state == "asks" ? Colour::yellow : Colour::none;
}

std::string noteOf(const ChartBar& bar) {
    std::string note = plain(bar.name);
    if (bar.took_us) note += "  " + timeOf(*bar.took_us);
    if (bar.attempts > 1) note += "  " + std::to_string(bar.attempts) + " attempts";
    if (bar.kind == "task" && bar.state != "done") note += "  " + bar.state;
    if (!bar.error.empty() && bar.state != "done") note += "  ! " + plain(bar.error);
    return note;
}

}  // namespace

Exit showChart(Call& call) {
    const RunChart chart = readRunChart(call.saver, findCheckpoint(call.saver, call.arguments, call.place(0)));
    auto& out = call.terminal.out();
    if (call.asJson()) {
        out << toJson(chart) << '\n';
        return Exit::done;
    }
    out << call.terminal.in(Colour::dim, std::to_string(chart.supersteps) + " supersteps from " + chart.begins_at +
                                             ", " + timeOf(chart.length_us))
        << '\n';
    for (const ChartBar& bar : chart.bars) {
        const std::string note = std::string(2 * bar.depth, ' ') + noteOf(bar);
        out << drawn(bar, chart.length_us) << "  "
            << call.terminal.in(colourOf(bar), call.terminal.fit(note, columns + 2)) << '\n';
    }
    if (chart.is_cut) out << call.terminal.in(Colour::yellow, "a part of this run is not in the chart") << '\n';
    return Exit::done;
}

}  // namespace stategraph::inspect
