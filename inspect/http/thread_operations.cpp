#include <chrono>
#include <optional>

#include <stategraph/error.hpp>
#include <stategraph/read_checkpoint.hpp>
#include <stategraph/stats.hpp>

#include "inspect/http/api_call.hpp"
#include "inspect/prune_trial.hpp"

// The operations on a whole thread: it is copied, pruned, deleted.
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

std::uint64_t checkpointsOf(const ApiCall& call, std::uint64_t* bytes = nullptr) {
    const SaverStats stats = call.api.saver().stats({.thread_id = call.thread, .threads = false});
    if (stats.total.commits == 0) throw NotFound{"there is no thread '" + call.thread + "'"};
    if (bytes != nullptr) *bytes = stats.total.bytes();
    return stats.total.commits;
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
    if (to.empty()) throw InvalidArgumentError("a copy needs a name: to");
    checkpointsOf(call);
    call.api.saver().copyThread(call.thread, to.view());
    return {.body = toJson(CopiedView{to.toString()}) + "\n"};
}

serve::HandlerAnswer pruneWhole(ApiCall& call) {
    const auto body = call.body<PruneBody>();
    const PruneRequest request = requestOf(call, body);
    std::uint64_t bytes = 0;
    const std::uint64_t checkpoints = checkpointsOf(call, &bytes);
    if (!body.dry_run) {
        const std::uint64_t dropped = call.api.saver().prune(request);
        return {.body = toJson(PrunedView{dropped, checkpoints - std::min(dropped, checkpoints)}) + "\n"};
    }
    if (bytes > page_thread_bytes_max)
        throw Refused{413, "this thread is too large to try a prune here; 'stategraph prune --dry-run' does it"};
    const PruneTrial trial = tryPrune(call.api.saver(), call.thread, request);
    return {.body = toJson(PrunedView{trial.dropped, trial.kept}) + "\n"};
}

// Who deletes names the newest checkpoint that was seen: nobody deletes what was stored since.
serve::HandlerAnswer deleteWhole(ApiCall& call) {
    const CheckpointId newest(call.body<DeleteBody>().newest);
    if (!call.api.runs().last(call.thread).has_ended)
        throw Refused{409, "the thread has a run that this page began; stop it first"};
    const auto tuple = call.api.saver().getTuple({.log = {call.thread, ""}, .checkpoint_id = {}});
    if (!tuple) throw NotFound{"there is no thread '" + call.thread + "'"};
    if (tuple->id != newest)
        throw Refused{409, "the thread has a newer checkpoint than that which was confirmed; look at it first"};
    call.api.saver().deleteThread(call.thread);
    return {.body = toJson(DeletedView{}) + "\n"};
}

}  // namespace stategraph::inspect
