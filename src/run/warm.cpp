#include <stategraph/error.hpp>

#include "src/commit/warm_thread.hpp"
#include "src/run/run.hpp"

// Begins a run with the state that the previous run left in memory, and leaves its own state for the next run.
namespace stategraph::engine {
namespace {

bool isIdle(const Schedule& schedule) noexcept {
    return schedule.activeEdges().empty() && schedule.activeJoins().empty() && schedule.sends.empty() &&
           schedule.visits().empty() && !schedule.has_input;
}

}  // namespace

WarmCache* Run::warmThreads() const noexcept {
    return env_.link == nullptr && hasSaver() && !topology().has_lasting ? core().warmThreads() : nullptr;
}

// Returns whether the thread is where its last run left it, and if so begins with what is in memory. A kept state that
// no longer matches the thread is dropped.
bool Run::loadWarm() {
    WarmCache* const cache = warmThreads();
    if (cache == nullptr) return false;
    const auto kept = cache->take(env_.place.thread_id);
    auto* const warm = static_cast<WarmThread*>(kept.get());
    const bool is_hit = warm != nullptr && beginWarm(*warm);
    cache->note(is_hit);
    return is_hit;
}

bool Run::beginWarm(WarmThread& warm) {
    auto head = findWarmHead(*env_.shared.saver, core(), env_.place.thread_id, warm);
    if (!head) return false;
    checkpoint::Folded& from = start_->from.emplace(std::move(*head));
    from.ran = {warm.ran, warm.ran_node};
    restoreSchedule(topology(), core().schema(), from, env_.schedule);
    from.ran = {};  // it refers to the state that is about to be destroyed
    if (warm.isRead()) {
        env_.state.values.assign(warm.state);
        env_.log.open(from.commit, LogWriter::Account(warm.account));
    } else {
        env_.state.values.take(warm.state);
        env_.log.open(from.commit, std::move(warm.account));
    }
    return true;
}

// After the run has ended well, keeps its state as reading it would give it. Without memory for that, nothing is kept.
void Run::keepWarm() noexcept {
    try {
        WarmCache* const cache = warmThreads();
        if (cache == nullptr || outcome_.status != Status::done || !env_.plan.empty() || !isIdle(env_.schedule)) return;
        auto account = env_.log.account();
        if (!account || env_.log.recordFrame().empty() || !cache->hasRoomFor(WarmThread::bytesOf(*account))) return;
        auto kept = std::make_unique<WarmThread>(env_.state.values);
        for (const auto& channel : core().schema().channels()) {
            if (isStored(channel.kind)) continue;
            channel.behaviour->reset(channel, kept->state.value(channel));
            kept->state.setPresent(channel.index, core().schema().present().test(channel.index));
        }
        kept->id = env_.log.stored();
        kept->checksum = env_.log.recordFrame();
        const LastRan& last = env_.schedule.last;
        if (last.kind == LastRan::Kind::several) kept->ran = checkpoint::FoldedRan::Kind::several;
        if (last.kind == LastRan::Kind::one) {
            kept->ran = checkpoint::FoldedRan::Kind::one;
            kept->ran_node = topology().nodes[last.node].stored_name;
        }
        kept->bytes = WarmThread::bytesOf(*account);
        kept->account = std::move(*account);
        cache->put(env_.place.thread_id, std::move(kept));
    } catch (...) {  // the next run reads the thread from the saver
    }
}

}  // namespace stategraph::engine
