#include "src/stream/topic.hpp"

#include <algorithm>
#include <new>

namespace stategraph::stream {
namespace {

unsigned bit(StreamMode mode) noexcept { return 1U << static_cast<unsigned>(mode); }

}  // namespace

void Topic::replace(Mailboxes mailboxes) {
    unsigned modes = 0;
    unsigned inner_modes = 0;
    for (const auto& mailbox : mailboxes) {
        for (unsigned i = 0; i < stream_mode_count; ++i) {
            if (!mailbox->options().modes.has(static_cast<StreamMode>(i))) continue;
            modes |= 1U << i;
            if (mailbox->options().subgraphs) inner_modes |= 1U << i;
        }
    }
    with_inputs_ = std::ranges::any_of(mailboxes, [](const auto& mailbox) { return mailbox->options().task_inputs; });
    without_inputs_ =
        std::ranges::any_of(mailboxes, [](const auto& mailbox) { return !mailbox->options().task_inputs; });
    modes_ = modes;
    inner_modes_ = inner_modes;
    any_ = !mailboxes.empty();
    mailboxes_ = std::make_shared<const Mailboxes>(std::move(mailboxes));
    has_stale_ = false;
}

// Returns the current mailboxes except `removed`, and except closed ones if one of them could not be removed before.
Topic::Mailboxes Topic::without(const Mailbox* removed) const {
    Mailboxes all = *mailboxes_;
    const bool has_stale = has_stale_;
    std::erase_if(all, [&](const auto& each) { return each.get() == removed || (has_stale && each->isClosed()); });
    return all;
}

void Topic::add(std::shared_ptr<Mailbox> mailbox) {
    const detail::LockGuard lock(mutex_);
    Mailboxes all = without(nullptr);
    all.push_back(std::move(mailbox));
    replace(std::move(all));
}

void Topic::remove(const Mailbox* mailbox) noexcept {
    const detail::LockGuard lock(mutex_);
    try {
        replace(without(mailbox));
    } catch (const std::bad_alloc&) {  // a closed mailbox accepts nothing; it is removed with the next one
        has_stale_ = true;
    }
}

std::shared_ptr<const Topic::Mailboxes> Topic::mailboxes() const {
    const detail::LockGuard lock(mutex_);
    return mailboxes_;
}

std::size_t Topic::size() const { return mailboxes()->size(); }

bool Topic::wants(StreamMode mode, bool inner) const noexcept {
    return ((inner ? inner_modes_ : modes_).load(std::memory_order_relaxed) & bit(mode)) != 0;
}

// The lock is not held, because a mailbox may make the run wait.
void Topic::offer(const StreamEvent& event, std::int64_t after, const engine::RunStop* stop, const Readers& readers) {
    const auto all = mailboxes();  // keeps the list while it is walked
    for (const auto& mailbox : *all) {
        if (readers.has(mailbox->options())) mailbox->offer(event, after, stop);
    }
}

void Topic::committed(std::int64_t sequence, const engine::RunStop* stop) {
    if (!any_.load(std::memory_order_relaxed)) return;
    const auto all = mailboxes();
    for (const auto& mailbox : *all) mailbox->committed(sequence, stop);
}

void Topic::changed() {
    if (!any_.load(std::memory_order_relaxed)) return;
    const auto all = mailboxes();
    for (const auto& mailbox : *all) mailbox->changed();
}

void Topic::runEnds(const StreamEvent* end, std::int64_t after, const engine::RunStop* stop) noexcept {
    if (any_.load(std::memory_order_relaxed)) {
        const auto all = mailboxes();
        for (const auto& mailbox : *all) mailbox->runEnds(end, after, stop);
    }
    runs_.fetch_sub(1);
    changed();  // wakes readers that wait until there is no run
}

void Topic::hubEnds() {
    is_over_ = true;
    changed();
}

}  // namespace stategraph::stream
