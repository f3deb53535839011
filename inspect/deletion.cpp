#include "inspect/deletion.hpp"

#include <stategraph/codec_std.hpp>
#include <stategraph/timeline.hpp>
#include <stategraph/unfinished.hpp>

#include "inspect/store.hpp"
#include "inspect/views.hpp"

namespace stategraph::inspect {
namespace {

// So many namespaces are listed.
constexpr std::size_t shown_subgraphs_max = 20;

void addLog(BaseCheckpointSaver& saver, const std::string& ns, DeletionView& view) {
    ListQuery query{.thread_id = view.thread_id, .checkpoint_ns = ns, .limit = rows_a_page, .with_writes = true};
    for (;;) {
        const auto rows = saver.list(query);
        if (!query.before && ns.empty() && !rows.empty()) view.newest = rows.front().id.toString();
        for (const ListedCheckpoint& row : rows) {
            ++view.checkpoints;
            view.bytes += row.bytes.size();
            view.pending_writes += row.writes.size();
            for (const auto& write : row.writes) view.bytes += write.bytes.size();
        }
        if (rows.size() < rows_a_page) return;
        query.before = rows.back().id;
    }
}

}  // namespace

DeletionView previewDeletion(BaseCheckpointSaver& saver, const std::string& thread_id) {
    DeletionView view;
    view.thread_id = thread_id;
    for (const std::string& ns : logsOf(saver, thread_id)) {
        addLog(saver, ns, view);
        if (ns.empty()) continue;
        ++view.subgraph_logs;
        if (view.subgraphs.size() < shown_subgraphs_max) view.subgraphs.push_back(ns);
    }
    view.status = toString(Status::done);
    for (const UnfinishedThread& open : saver.unfinishedThreads({.thread_ids = {thread_id}})) {
        view.status = toString(open.reason);
        for (const Interrupt& asked : open.interrupts) view.questions.push_back(asked.value);
    }
    return view;
}

}  // namespace stategraph::inspect
