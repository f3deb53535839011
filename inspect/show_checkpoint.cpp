#include <map>

#include <stategraph/read_checkpoint.hpp>
#include <stategraph/value_page.hpp>

#include "inspect/commands.hpp"

namespace stategraph::inspect {
namespace {

// At most this many bytes of a value are turned into JSON for a line; the rest is cut.
constexpr std::size_t line_bytes_max = 4'000;

std::string summaryOf(const ValueItem& item) {
    if (item.is_whole) return plain(item.json);
    const std::string size = sizeText(item.stored_bytes);
    switch (item.kind) {
        case ValueKind::list:
            return "list of " + std::to_string(item.size) + ", " + size;
        case ValueKind::map:
            return "map of " + std::to_string(item.size) + ", " + size;
        case ValueKind::text:
            return plain(item.json) + "… (" + size + ")";
        default:
            return std::string(toString(item.kind)) + ", " + size;
    }
}

void printPage(Call& call, const Value& values, const std::string& path) {
    ValuePageQuery query{.from = call.arguments.number("--from", 0, 0),
                         .count = call.arguments.number("--count", 50, 1),
                         .bytes_max = line_bytes_max};
    const ValuePage page = pageOf(values, path, query);
    auto& out = call.terminal.out();
    if (page.value.kind != ValueKind::list && page.value.kind != ValueKind::map) {
        out << plain(valueAt(values, path).toJson()) << '\n';
        return;
    }
    out << call.terminal.in(Colour::dim, std::string(toString(page.value.kind)) + " of " +
                                             std::to_string(page.value.size) + ", " + sizeText(page.value.stored_bytes))
        << '\n';
    for (std::size_t i = 0; i < page.items.size(); ++i) {
        const ValueItem& item = page.items[i];
        const std::string name = page.value.kind == ValueKind::map ? plain(item.key) : std::to_string(page.from + i);
        out << "  " << name << "  " << call.terminal.fit(summaryOf(item), name.size() + 4) << '\n';
    }
    const std::size_t end = page.from + page.items.size();
    if (end < page.value.size)
        out << call.terminal.in(Colour::dim, "… --from " + std::to_string(end) + " shows more") << '\n';
}

void printTask(Call& call, const TaskSnapshot& task) {
    auto& out = call.terminal.out();
    std::string mark = task.finished ? "done" : "due";
    Colour colour = task.finished ? Colour::green : Colour::blue;
    if (task.error) mark = "failed", colour = Colour::red;
    if (!task.open_interrupts.empty()) mark = "asks", colour = Colour::yellow;
    const std::string name = plain(task.name);
    out << "  " << call.terminal.in(colour, mark) << "  " << name;
    if (task.took) out << call.terminal.in(Colour::dim, "  " + durationText(*task.took));
    if (task.attempts > 1) out << call.terminal.in(Colour::dim, "  " + std::to_string(task.attempts) + " attempts");
    if (!task.input.isNull())
        out << "  " << call.terminal.fit(plain(task.input.toJson()), name.size() + mark.size() + 6);
    out << '\n';
    for (const Interrupt& asked : task.open_interrupts) {
        out << "      ? " << call.terminal.fit(plain(asked.value.toJson()), 8) << "  "
            << call.terminal.in(Colour::dim,
                                asked.id.toString() + (asked.key.empty() ? "" : " key " + plain(asked.key)))
            << '\n';
    }
    if (task.error) out << "      ! " << call.terminal.in(Colour::red, plain(*task.error)) << '\n';
    if (!task.result.isNull()) out << "      wrote " << call.terminal.fit(plain(task.result.toJson()), 12) << '\n';
    if (task.state_config) {
        out << "      "
            << call.terminal.in(Colour::dim, "subgraph: --ns '" + plain(task.state_config->checkpoint_ns) + "'")
            << '\n';
    }
}

void print(Call& call, const SnapshotData& snapshot) {
    auto& out = call.terminal.out();
    out << call.terminal.in(Colour::bold, plain(snapshot.config.thread_id.toString())) << "  step " << snapshot.step
        << "  " << toString(snapshot.source) << "  " << (snapshot.created_at ? timeText(*snapshot.created_at) : "")
        << '\n'
        << "checkpoint  " << snapshot.config.checkpoint_id.toString() << '\n';
    if (snapshot.parent_config) out << "parent      " << snapshot.parent_config->checkpoint_id.toString() << '\n';
    if (!snapshot.config.checkpoint_ns.empty()) out << "namespace   " << plain(snapshot.config.checkpoint_ns) << '\n';
    for (const MetadataEntry& entry : snapshot.metadata)
        out << "metadata    " << plain(entry.key) << " = " << plain(entry.value.toJson()) << '\n';
    if (snapshot.cancelled) out << call.terminal.in(Colour::red, "cancelled") << '\n';
    out << "tasks\n";
    if (snapshot.tasks.empty()) out << "  none: nothing is due\n";
    for (const TaskSnapshot& task : snapshot.tasks) printTask(call, task);
    out << "values\n";
    const ValuePage page = pageOf(snapshot.values_as_cbor, "", {.count = 10'000, .bytes_max = line_bytes_max});
    for (const ValueItem& item : page.items) {
        const std::string name = plain(item.key);
        out << "  " << name << "  " << call.terminal.fit(summaryOf(item), name.size() + 4) << '\n';
    }
}

}  // namespace

Exit showCheckpoint(Call& call) {
    const Config place = findPlace(call.saver, call.arguments, call.place(0));
    const auto snapshot = readCheckpoint(call.saver, place, {.subgraphs = call.arguments.has("--subgraphs")});
    if (!snapshot) {
        findCheckpoint(call.saver, call.arguments, call.place(0));  // reports that the checkpoint does not exist
        return Exit::no;
    }
    const auto channel = call.arguments.value("--channel");
    std::string path = call.arguments.value("--path").value_or("");
    if (channel) {
        std::string escaped;
        for (const char c : *channel) escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
        path = "/" + escaped + path;
    }
    if (path.empty()) {
        if (call.asJson()) {
            call.terminal.out() << toJson(*snapshot) << '\n';
        } else {
            print(call, *snapshot);
        }
    } else if (call.asJson()) {
        call.terminal.out() << valueAt(snapshot->values_as_cbor, path).toJson() << '\n';
    } else {
        printPage(call, snapshot->values_as_cbor, path);
    }
    return Exit::done;
}

}  // namespace stategraph::inspect
