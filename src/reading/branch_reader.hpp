#pragma once
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/config.hpp>
#include <stategraph/saver.hpp>

#include "src/reading/log_page.hpp"

// Walks from a checkpoint to the first one of its branch, reading a page of the log at a time.
namespace stategraph::reading {

class BranchReader {
public:
    /// Begins at `config.checkpoint_id`, or at the log's newest checkpoint. `config` must outlive the reader.
    BranchReader(BaseCheckpointSaver& saver, const Config& config) : saver_(saver), config_(config) {
        next_ = config.checkpoint_id;
        is_newest_ = next_.empty();
    }

    /// Returns the next checkpoint of the branch with its pending writes, or none at its end or where the rest was
    /// pruned. With `follow`, the caller names the parent with which to continue.
    std::optional<ListedCheckpoint> next() {
        if (next_.empty() && !is_newest_) return {};
        for (;;) {
            for (; at_ < page_.size(); ++at_) {
                if (is_newest_ || page_[at_].id == next_) {
                    is_newest_ = false;
                    return std::move(page_[at_++]);
                }
                if (page_[at_].id < next_) return {};
            }
            if (is_last_page_) return {};
            readPage();
        }
    }
    void follow(CheckpointId parent) noexcept { next_ = parent; }

private:
    void readPage() {
        // Pages begin small, because many branches are short and rows may be large.
        const std::size_t rows = rows_;
        rows_ = std::min(2 * rows_, rows_max);
        // The first page begins with the checkpoint itself, so the limit is the next greater id.
        CheckpointId before = last_;
        if (last_.empty() && next_)
            before = CheckpointId(next_.high() + (next_.low() == ~std::uint64_t{0}), next_.low() + 1);
        page_ = saver_.list({.thread_id = config_.thread_id.toString(),
                             .checkpoint_ns = config_.checkpoint_ns,
                             .before = before,
                             .limit = rows,
                             .with_writes = true});
        at_ = 0;
        is_last_page_ = page_.size() < rows;
        if (!page_.empty()) last_ = page_.back().id;
    }

    static constexpr std::size_t rows_max = 128;

    BaseCheckpointSaver& saver_;
    const Config& config_;
    std::size_t rows_ = 8;
    CheckpointId next_;
    bool is_newest_ = false;
    std::vector<ListedCheckpoint> page_;
    std::size_t at_ = 0;
    CheckpointId last_;
    bool is_last_page_ = false;
};

}  // namespace stategraph::reading
