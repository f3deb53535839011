#include <stategraph/error.hpp>

#include "src/run/run.hpp"
#include "src/run/warm_thread.hpp"
#include "src/value/next_id.hpp"

// A run that begins with the state that the one before it left in memory, and what it leaves for the next one.
namespace stategraph::engine {
namespace {

bool isIdle(const Schedule& schedule) noexcept {
    return schedule.activeEdges().empty() && schedule.activeJoins().empty() && schedule.sends.empty() &&
           schedule.visits().empty() && !schedule.has_input;
}

// The newest commit of a thread that is older than this one; none: of all.
std::optional<ListedCheckpoint> newestBefore(BaseCheckpointSaver& saver, std::string_view thread_id,
                                             CheckpointId before) {
    auto rows = saver.list(
        {.thread_id = std::string(thread_id), .checkpoint_ns = "", .before = before, .limit = 1, .with_writes = true});
    if (rows.empty()) return {};
    return std::move(rows.front());
}

}  // namespace

WarmCache* Run::warmThreads() const noexcept {
    return env_.link == nullptr && hasSaver() && !topology().has_lasting ? core().warmThreads() : nullptr;
}

// Whether the thread is where its last run left it, and begins with what is in memory. A kept state that is not the
// thread's any more is dropped.
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
    BaseCheckpointSaver& saver = *env_.shared.saver;
    std::optional<ListedCheckpoint> head = newestBefore(saver, env_.place.thread_id, {});
    if (!head || head->id != warm.id || !head->writes.empty() || !head->bytes.starts_with(warm.checksum)) return false;
    if (warm.account.base != warm.id) {
        // A prune may have dropped commits that the thread was read from, and written another one whole. It drops the
        // base before those after it, unless the base has a question.
        const auto base = newestBefore(saver, env_.place.thread_id, detail::nextId(warm.account.base));
        if (!base || base->id != warm.account.base || !base->writes.empty()) return false;
    }
    checkpoint::Folded& from = start_->from.emplace();
    from.tuple.id = from.tuple.head = warm.id;
    from.tuple.commits.push_back({warm.id, std::move(head->bytes)});
    from.commit =
        checkpoint::readCommit({env_.place.thread_id, env_.place.ns, warm.id}, from.tuple.commits.front().bytes, true);
    from.commit.base = warm.account.base;
    from.ran = {warm.ran, warm.ran_node};
    from.graph = core().topology().fingerprint;
    from.schema = core().schema().fingerprint();
    restoreSchedule(topology(), core().schema(), from, env_.schedule);
    from.ran = {};  // it is of what goes now
    env_.state.values.take(warm.state);
    env_.log.open(from.commit, std::move(warm.account));
    return true;
}

// After the run has ended well: its state as reading it would give it. Without memory for it none is kept.
void Run::keepWarm() noexcept {
    try {
        WarmCache* const cache = warmThreads();
        if (cache == nullptr || outcome_.status != Status::done || !env_.plan.empty() || !isIdle(env_.schedule)) return;
        auto account = env_.log.account();
        if (!account || env_.log.recordFrame().empty() || !cache->hasRoomFor(WarmThread::bytesOf(*account))) return;
        auto kept = std::make_unique<WarmThread>(env_.state.values);
        for (const auto& channel : core().schema().channels()) {
            if (channel.kind != detail::ChannelKind::untracked) continue;
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
    } catch (...) {  // the next run reads the thread
    }
}

}  // namespace stategraph::engine
