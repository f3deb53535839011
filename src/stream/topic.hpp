#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include <stategraph/detail/mutex.hpp>

#include "src/stream/mailbox.hpp"
#include "src/stream/readers.hpp"

namespace stategraph::stream {

/// The subscribers of one thread of a hub. Safe from any thread.
class Topic {
public:
    void add(std::shared_ptr<Mailbox> mailbox);
    /// Removes a mailbox that is closed.
    void remove(const Mailbox* mailbox) noexcept;
    std::size_t size() const;

    /// Returns whether a reader wants events of this mode, from the root graph or from subgraphs.
    bool wants(StreamMode mode, bool inner) const noexcept;
    /// Returns whether some subscriber wants tasks' inputs (or does not).
    bool wantsInputs(bool with_inputs) const noexcept {
        return (with_inputs ? with_inputs_ : without_inputs_).load(std::memory_order_relaxed);
    }
    /// `stop` is what may end the run, which then waits for no subscriber; null if nothing can.
    void offer(const StreamEvent& event, std::int64_t after, const engine::RunStop* stop, const Readers& readers = {});
    void committed(std::int64_t sequence, const engine::RunStop* stop);
    void changed();
    /// These note that a run has begun on the thread, and that it has ended, with everything up to `after` stored.
    /// `end` is the event that reports it, or null if no reader wants it.
    void runBegins() noexcept { runs_.fetch_add(1); }
    void runEnds(const StreamEvent* end, std::int64_t after, const engine::RunStop* stop) noexcept;
    /// Returns whether no run of this hub is under way.
    bool isIdle() const noexcept { return runs_.load() == 0; }
    /// The hub is destroyed: nothing will be reported any more. Wakes readers, which would wait for it.
    void hubEnds();
    bool isOver() const noexcept { return is_over_.load(); }

private:
    using Mailboxes = std::vector<std::shared_ptr<Mailbox>>;
    std::shared_ptr<const Mailboxes> mailboxes() const;
    Mailboxes without(const Mailbox* removed) const SG_REQUIRES(mutex_);
    void replace(Mailboxes mailboxes) SG_REQUIRES(mutex_);

    mutable detail::Mutex mutex_;
    std::shared_ptr<const Mailboxes> mailboxes_ SG_GUARDED_BY(mutex_) =
        std::make_shared<Mailboxes>();  // never changed, only replaced
    std::atomic<bool> any_ = false;
    // Whether a mailbox that was closed could not be removed, because there was no memory.
    bool has_stale_ SG_GUARDED_BY(mutex_) = false;
    std::atomic<int> runs_ = 0;  // the number of runs under way
    std::atomic<bool> with_inputs_ = false;
    std::atomic<bool> without_inputs_ = false;
    std::atomic<unsigned> modes_ = 0;
    std::atomic<unsigned> inner_modes_ = 0;
    std::atomic<bool> is_over_ = false;
};

}  // namespace stategraph::stream
