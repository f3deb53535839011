#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <stategraph/delete_thread.hpp>
#include <stategraph/error.hpp>
#include <stategraph/stats.hpp>
#include <stategraph/timeline.hpp>

#include "inspect/deletion.hpp"
#include "inspect/http/api_call.hpp"
#include "inspect/prune_trial.hpp"

// The operations on a whole thread: copy, prune, delete, and what a deletion removes.
namespace stategraph::inspect {
namespace {

struct CopyBody {
    std::string to;
    static constexpr auto fields() { return stategraph::fields(field("to", &CopyBody::to)); }
};
struct PruneBody {
    std::optional<std::uint64_t> keep_last;
    std::optional<std::uint64_t> older_than_s;
    bool dry_run = false;
    static constexpr auto fields() {
        return stategraph::fields(field("keep_last", &PruneBody::keep_last),
                                  field("older_than_s", &PruneBody::older_than_s),
                                  field("dry_run", &PruneBody::dry_run, defaulted));
    }
};
struct DeleteBody {
    std::string newest;
    static constexpr auto fields() { return stategraph::fields(field("newest", &DeleteBody::newest)); }
};

struct CopiedView {
    std::string thread_id;
    static constexpr auto fields() { return stategraph::fields(field("thread_id", &CopiedView::thread_id)); }
};
struct PrunedView {
    std::uint64_t dropped = 0;
    std::uint64_t kept = 0;
    static constexpr auto fields() {
        return stategraph::fields(field("dropped", &PrunedView::dropped), field("kept", &PrunedView::kept));
    }
};
struct DeletedView {
    bool deleted = true;
    static constexpr auto fields() { return stategraph::fields(field("deleted", &DeletedView::deleted)); }
};

// Returns the newest checkpoint of the root's log, which may be damaged. Errors: NotFound.
CheckpointId newestOf(const ApiCall& call) {
    const Config root{.thread_id = ThreadId(call.thread)};
    const auto entries = readTimeline(call.api.saver(), root, {.before = {}, .limit = 1});
    if (entries.empty()) throw NotFound{"there is no thread '" + call.thread + "'"};
    return entries.front().id;
}

StorageBytes sizesOf(const ApiCall& call) {
    return call.api.saver().stats({.thread_id = call.thread, .threads = false}).total;
}

void refuseWhileItRuns(const ApiCall& call) {
    if (!call.api.runs().last(call.thread).has_ended)
        throw Refused{409, "thread '" + call.thread + "' has a run that this page began; stop it first"};
}

PruneRequest requestOf(const ApiCall& call, const PruneBody& body) {
    constexpr std::uint64_t seconds_max = 4'000'000'000;
    PruneRequest request{.thread_id = call.thread};
    if (!body.keep_last && !body.older_than_s)
        throw InvalidArgumentError("say what to drop: keep_last (at least 1), older_than_s, or both");
    if (body.keep_last) request.keep_last = *body.keep_last;
    if (body.older_than_s) {
        if (*body.older_than_s > seconds_max)
            throw InvalidArgumentError("older_than_s must be at most " + std::to_string(seconds_max));
        request.older_than = std::chrono::system_clock::now() - std::chrono::seconds(*body.older_than_s);
    }
    return request;
}

}  // namespace

serve::HandlerAnswer copyWhole(ApiCall& call) {
    const auto body = call.body<CopyBody>();
    const ThreadId to(body.to);
    if (to.empty()) throw InvalidArgumentError("a copy needs a name for the new thread: to");
    newestOf(call);
    call.api.saver().copyThread(call.thread, to.view());
    return json(CopiedView{to.toString()});
}

serve::HandlerAnswer pruneWhole(ApiCall& call) {
    const auto body = call.body<PruneBody>();
    const PruneRequest request = requestOf(call, body);
    newestOf(call);
    if (body.dry_run) {
        if (sizesOf(call).bytes() > page_thread_bytes_max)
            throw Refused{413, "this thread is too large to try a prune here; 'stategraph prune --dry-run' does it"};
        const PruneTrial trial = tryPrune(call.api.saver(), call.thread, request);
        return json(PrunedView{trial.dropped, trial.kept});
    }
    refuseWhileItRuns(call);
    const std::uint64_t dropped = call.api.saver().prune(request);
    return json(PrunedView{dropped, sizesOf(call).commits});
}

serve::HandlerAnswer deletion(ApiCall& call) {
    DeletionView view = previewDeletion(call.api.saver(), call.thread);
    for (Value& question : view.questions) question = call.api.redaction().apply(std::move(question), "");
    return json(view);
}

// The request names the newest checkpoint that its sender saw, so that checkpoints stored after that are not deleted
// unseen. A checkpoint that another writer stores between this check and the deletion is deleted.
serve::HandlerAnswer deleteWhole(ApiCall& call) {
    const CheckpointId seen(call.body<DeleteBody>().newest);
    refuseWhileItRuns(call);
    if (newestOf(call) != seen)
        throw Refused{409,
                      "thread '" + call.thread +
                          "' has a newer checkpoint than the one that was confirmed; look at it, then confirm again"};
    deleteWholeThread(call.api.saver(), call.thread);
    return json(DeletedView{});
}

}  // namespace stategraph::inspect
