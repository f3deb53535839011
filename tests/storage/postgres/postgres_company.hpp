#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <stategraph/error.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

namespace postgres_tests {

/// A PostgresSaver each of whose puts has company: other threads put to it meanwhile, to logs that do not exist, after
/// heads that they do not have, so that nothing of theirs is stored.
class InCompany final : public stategraph::BaseCheckpointSaver {
public:
    explicit InCompany(std::unique_ptr<stategraph::PostgresSaver> saver) : saver_(std::move(saver)) {}
    ~InCompany() override { leave(); }
    const stategraph::PostgresSaver& saver() const noexcept { return *saver_; }

    void put(const stategraph::PutRequest& request) override {
        begin();
        struct End {
            std::atomic<int>& puts;
            ~End() { --puts; }
        } end{puts_};
        ++puts_;
        puts_.notify_all();
        saver_->put(request);
    }
    std::optional<stategraph::CheckpointTuple> getTuple(const stategraph::TupleQuery& query) override {
        return saver_->getTuple(query);
    }
    std::vector<stategraph::ListedCheckpoint> list(const stategraph::ListQuery& query) override {
        return saver_->list(query);
    }
    void deleteThread(std::string_view thread_id) override { saver_->deleteThread(thread_id); }
    void copyThread(std::string_view from, std::string_view to) override { saver_->copyThread(from, to); }
    std::size_t prune(const stategraph::PruneRequest& request) override { return saver_->prune(request); }
    void putGraph(const stategraph::GraphFingerprint& fingerprint, std::string_view bytes) override {
        saver_->putGraph(fingerprint, bytes);
    }
    std::optional<std::string> getGraph(const stategraph::GraphFingerprint& fingerprint) override {
        return saver_->getGraph(fingerprint);
    }
    std::optional<std::vector<stategraph::IndexedThread>> openThreads(
        const stategraph::OpenThreadsQuery& query) override {
        return saver_->openThreads(query);
    }
    std::optional<std::vector<stategraph::IndexedThread>> newestThreads(
        const stategraph::NewestThreadsQuery& query) override {
        return saver_->newestThreads(query);
    }
    std::optional<std::vector<stategraph::DueThread>> dueThreads(const stategraph::DueThreadsQuery& query) override {
        return saver_->dueThreads(query);
    }
    std::optional<stategraph::ThreadCounts> countThreads(std::size_t most) override {
        return saver_->countThreads(most);
    }
    std::optional<std::uint64_t> storedBytes() override { return saver_->storedBytes(); }

private:
    void begin() {
        const std::lock_guard lock(mutex_);
        for (int i = static_cast<int>(companions_.size()); i < 2; ++i)
            companions_.emplace_back([this, i] { accompany("companion " + std::to_string(i)); });
    }
    void leave() {
        is_ending_ = true;
        ++puts_;
        puts_.notify_all();
        for (std::thread& each : companions_) each.join();
    }
    void accompany(const std::string& thread) {
        using namespace stategraph::testing;
        while (!is_ending_) {
            puts_.wait(0);
            if (is_ending_) return;
            try {
                putOne(*saver_, {thread}, nthId(1), makeCommit(2, 1));
            } catch (const stategraph::Error&) {  // as it must be
            }
        }
    }

    const std::unique_ptr<stategraph::PostgresSaver> saver_;
    std::atomic<int> puts_{0};
    std::atomic<bool> is_ending_{false};
    std::mutex mutex_;
    std::vector<std::thread> companions_;
};

}  // namespace postgres_tests
