#include <optional>
#include <utility>

#include <stategraph/error.hpp>

#include "inspect/commands.hpp"
#include "inspect/prune_trial.hpp"
#include "inspect/views.hpp"

// prune: prunes threads, and shows what it would drop.
namespace stategraph::inspect {
namespace {

struct PruneView {
    std::string thread_id;
    std::uint64_t dropped = 0;
    std::uint64_t kept = 0;
    static constexpr auto fields() {
        return stategraph::fields(field("thread_id", &PruneView::thread_id), field("dropped", &PruneView::dropped),
                                  field("kept", &PruneView::kept));
    }
};

PruneRequest requestOf(const Call& call) {
    PruneRequest request;
    const auto now = std::chrono::system_clock::now();
    if (!call.arguments.places().empty()) request.thread_id = call.place(0);
    if (call.arguments.value("--keep-last")) request.keep_last = call.arguments.number("--keep-last", 1, 1);
    if (const auto age = call.arguments.age("--older-than")) request.older_than = now - *age;
    if (const auto age = call.arguments.age("--unused")) request.threads_unused_since = now - *age;
    if (!request.keep_last && !request.older_than && !request.threads_unused_since)
        throw UsageError{"say what to drop: --keep-last, --older-than or --unused"};
    return request;
}

}  // namespace

Exit pruneThreads(Call& call) {
    const PruneRequest request = requestOf(call);
    if (request.thread_id) logsOf(call.saver, *request.thread_id);
    auto& out = call.terminal.out();
    if (!call.arguments.has("--dry-run")) {
        std::vector<DamagedThread> damaged;
        PruneRequest with = request;
        with.damaged = &damaged;
        const std::size_t dropped = call.saver.prune(with);
        if (call.asJson()) {
            out << toJson(PruneView{request.thread_id.value_or(""), dropped, 0}) << '\n';
        } else {
            out << dropped << " checkpoints were dropped\n";
        }
        for (const DamagedThread& thread : damaged)
            out << call.terminal.in(Colour::red, plain(thread.thread_id)) << "  " << plain(thread.why) << '\n';
        return damaged.empty() ? Exit::done : Exit::no;
    }
    std::vector<PruneView> views;
    std::size_t dropped = 0;
    const auto add = [&](const std::string& thread_id) {
        const PruneTrial trial = tryPrune(call.saver, thread_id, request);
        PruneView view{thread_id, trial.dropped, trial.kept};
        dropped += view.dropped;
        if (!call.asJson() && view.dropped > 0)
            out << plain(thread_id) << "  " << view.dropped << " of " << view.dropped + view.kept << '\n';
        if (call.asJson()) views.push_back(std::move(view));
    };
    if (request.thread_id) {
        add(*request.thread_id);
    } else {
        call.saver.forEachHead({}, rows_a_page, [&](const ListedCheckpoint& head) {
            if (head.damaged.empty()) add(head.thread_id);
            return true;
        });
    }
    if (call.asJson()) {
        out << toJson(views) << '\n';
    } else {
        out << dropped << " checkpoints would be dropped\n";
    }
    return Exit::done;
}

}  // namespace stategraph::inspect
