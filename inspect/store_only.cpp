#include <fstream>
#include <istream>
#include <optional>
#include <string>

#include <stategraph/answer.hpp>
#include <stategraph/error.hpp>
#include <stategraph/export.hpp>
#include <stategraph/fork.hpp>

#include "inspect/commands.hpp"
#include "inspect/output_file.hpp"
#include "inspect/trace.hpp"
#include "inspect/views.hpp"

// answer, fork, export and import: store without running a graph.
namespace stategraph::inspect {
namespace {

std::optional<TaskId> questionId(const std::string& text) {
    try {
        return TaskId(text);
    } catch (const InvalidArgumentError&) {
        return {};
    }
}

struct ForkView {
    std::string thread_id;
    std::string checkpoint_id;
    static constexpr auto fields() {
        return stategraph::fields(field("thread_id", &ForkView::thread_id),
                                  field("checkpoint_id", &ForkView::checkpoint_id));
    }
};
struct RowsView {
    std::string thread_id;
    std::uint64_t commits = 0;
    std::uint64_t writes = 0;
    static constexpr auto fields() {
        return stategraph::fields(field("thread_id", &RowsView::thread_id), field("commits", &RowsView::commits),
                                  field("writes", &RowsView::writes));
    }
};

struct TraceView {
    std::string thread_id;
    std::uint64_t checkpoints = 0;
    static constexpr auto fields() {
        return stategraph::fields(field("thread_id", &TraceView::thread_id),
                                  field("checkpoints", &TraceView::checkpoints));
    }
};

// "-" means the standard streams, as leaving the name out does.
bool namesFile(const Call& call, std::size_t place) {
    return call.arguments.places().size() > place && call.place(place) != "-";
}

}  // namespace

Exit answerQuestion(Call& call) {
    const Config config{.thread_id = call.place(0), .checkpoint_id = {}, .checkpoint_ns = {}};
    const bool named = call.arguments.places().size() == 3;
    const Value value = valueOf(call.place(named ? 2 : 1));
    std::vector<Interrupt> left;
    if (named) {
        const auto id = questionId(call.place(1));
        left = answer(call.saver, config, {id ? Answer(*id, value) : Answer(call.place(1), value)},
                      {.durability = Durability::sync});
    } else {
        left = answer(call.saver, config, value, {.durability = Durability::sync});
    }
    auto& out = call.terminal.out();
    if (call.asJson()) {
        std::vector<Value> questions;
        for (const Interrupt& asked : left) questions.push_back(asked.value);
        out << toJson(questions) << '\n';
        return Exit::done;
    }
    out << "stored " << plain(value.toJson()) << "; the program takes it when it resumes the thread\n";
    for (const Interrupt& asked : left)
        out << "  still open: " << plain(asked.value.toJson()) << "  "
            << call.terminal.in(Colour::dim, asked.id.toString()) << '\n';
    return Exit::done;
}

Exit forkThread(Call& call) {
    const Config place = findCheckpoint(call.saver, call.arguments, call.place(0));
    Metadata metadata = {{"by", "stategraph fork"}};
    if (const auto note = call.arguments.value("--note")) metadata.push_back({"note", *note});
    const Config made = fork(call.saver, place, {.metadata = metadata, .durability = Durability::sync});
    if (call.asJson()) {
        call.terminal.out() << toJson(ForkView{made.thread_id.toString(), made.checkpoint_id.toString()}) << '\n';
    } else {
        call.terminal.out() << "checkpoint " << made.checkpoint_id.toString()
                            << " is the newest now; the program continues from it when it resumes the thread\n";
    }
    return Exit::done;
}

Exit exportRows(Call& call) {
    if (call.arguments.has("--trace")) return exportTrace(call);
    const ThreadId thread(call.place(0));
    if (!namesFile(call, 1)) {
        exportThread(call.saver, thread, call.terminal.out());
        return Exit::done;
    }
    ThreadRows rows;
    writeFile(call.place(1), [&](std::ostream& file) { rows = exportThread(call.saver, thread, file); });
    if (call.asJson()) {
        call.terminal.out() << toJson(RowsView{rows.thread_id, rows.commits, rows.writes}) << '\n';
    } else {
        call.terminal.out() << rows.commits << " checkpoints and " << rows.writes << " pending writes are in "
                            << plain(call.place(1)) << '\n';
    }
    return Exit::done;
}

Exit exportTrace(Call& call) {
    const std::string& thread = call.place(0);
    if (!namesFile(call, 1)) {
        writeTrace(call.saver, thread, call.terminal.out());
        return Exit::done;
    }
    std::size_t checkpoints = 0;
    writeFile(call.place(1), [&](std::ostream& file) { checkpoints = writeTrace(call.saver, thread, file); });
    if (call.asJson()) {
        call.terminal.out() << toJson(TraceView{thread, checkpoints}) << '\n';
    } else {
        call.terminal.out() << "a trace of " << checkpoints << " checkpoints is in " << plain(call.place(1))
                            << "; open it at https://ui.perfetto.dev\n";
    }
    return Exit::done;
}

Exit importRows(Call& call) {
    ImportOptions options;
    if (const auto name = call.arguments.value("--as")) options.thread_id = ThreadId(*name);
    std::ifstream file;
    if (namesFile(call, 0)) {
        file.open(call.place(0), std::ios::binary);
        if (!file) throw NotFound{"there is no file '" + call.place(0) + "' that can be read"};
    }
    std::istream& lines = file.is_open() ? file : call.in;
    do {
        const ThreadRows rows = importThread(call.saver, lines, options);
        if (call.asJson()) {
            call.terminal.out() << toJson(RowsView{rows.thread_id, rows.commits, rows.writes}) << '\n';
        } else {
            call.terminal.out() << "thread " << plain(rows.thread_id) << " has " << rows.commits << " checkpoints and "
                                << rows.writes << " pending writes\n";
        }
    } while ((lines >> std::ws).peek() != std::istream::traits_type::eof());  // a file may have several threads
    return Exit::done;
}

}  // namespace stategraph::inspect
