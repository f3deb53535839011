#include <stategraph/delete_thread.hpp>

#include "inspect/commands.hpp"
#include "inspect/deletion.hpp"
#include "inspect/views.hpp"

// rm: deletes a thread, and shows what that removes.
namespace stategraph::inspect {
namespace {

std::string counted(std::uint64_t count, const std::string& one, const std::string& several) {
    return std::to_string(count) + ' ' + (count == 1 ? one : several);
}

void print(Call& call, const DeletionView& view) {
    auto& out = call.terminal.out();
    out << plain(view.thread_id) << "  " << view.status << "  "
        << counted(view.checkpoints, "checkpoint", "checkpoints") << ", "
        << counted(view.pending_writes, "pending write", "pending writes") << ", " << sizeText(view.bytes);
    if (view.subgraph_logs > 0) out << ", " << counted(view.subgraph_logs, "log", "logs") << " of subgraphs";
    out << '\n';
    for (const std::string& ns : view.subgraphs) out << "  " << call.terminal.in(Colour::dim, plain(ns)) << '\n';
    if (view.subgraphs.size() < view.subgraph_logs) out << "  …\n";
    for (const Value& question : view.questions) out << "  ? " << plain(question.toJson()) << '\n';
    out << (view.deleted ? "was deleted\n" : "would be deleted\n");
}

}  // namespace

Exit removeThread(Call& call) {
    DeletionView view = previewDeletion(call.saver, call.place(0));
    if (!call.arguments.has("--dry-run")) {
        deleteWholeThread(call.saver, view.thread_id);
        view.deleted = true;
    }
    if (call.asJson()) {
        call.terminal.out() << toJson(view) << '\n';
    } else {
        print(call, view);
    }
    return Exit::done;
}

}  // namespace stategraph::inspect
