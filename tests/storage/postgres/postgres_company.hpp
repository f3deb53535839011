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
#include <stategraph/forwarding_saver.hpp>
#include <stategraph/postgres_saver.hpp>
#include <stategraph/testing/saver_contract/support.hpp>

namespace postgres_tests {

/// A PostgresSaver each of whose puts has company: other threads put to it meanwhile, to logs that do not exist, after
/// heads that they do not have, so that nothing of theirs is stored.
class InCompany final : public stategraph::ForwardingSaver {
public:
    explicit InCompany(std::unique_ptr<stategraph::PostgresSaver> saver) : ForwardingSaver(std::move(saver)) {}
    ~InCompany() override { leave(); }
    const stategraph::PostgresSaver& saver() const noexcept {
        return static_cast<const stategraph::PostgresSaver&>(*inner());
    }

    void put(const stategraph::PutRequest& request) override {
        begin();
        struct End {
            std::atomic<int>& puts;
            ~End() { --puts; }
        } end{puts_};
        ++puts_;
        puts_.notify_all();
        inner()->put(request);
    }
    bool answersLater() const noexcept override { return false; }

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
                putOne(*inner(), {thread}, nthId(1), makeCommit(2, 1));
            } catch (const stategraph::Error&) {  // as it must be
            }
        }
    }

    std::atomic<int> puts_{0};
    std::atomic<bool> is_ending_{false};
    std::mutex mutex_;
    std::vector<std::thread> companions_;
};

}  // namespace postgres_tests
