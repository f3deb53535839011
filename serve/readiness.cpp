#include "serve/readiness.hpp"

#include <utility>

namespace stategraph::serve {

namespace {
constexpr auto holds_for = std::chrono::seconds(1);
}  // namespace

Readiness::~Readiness() {
    std::thread last;
    {
        const stategraph::detail::LockGuard lock(mutex_);
        last = std::move(thread_);
    }
    if (last.joinable()) last.join();
}

void Readiness::look(const Endpoints& endpoints, Metrics& metrics) {
    const stategraph::detail::LockGuard lock(mutex_);
    if (is_looking_ || (has_looked_ && Clock::now() - looked_at_ < holds_for)) return;
    if (thread_.joinable()) thread_.join();  // it has ended, or does so now
    thread_ = std::thread([this, endpoints = Endpoints(endpoints), &metrics]() mutable {
        std::string failed = failedOf(endpoints, metrics);
        const stategraph::detail::LockGuard done(mutex_);
        failed_ = std::move(failed);
        looked_at_ = Clock::now();
        has_looked_ = true;
        is_looking_ = false;
    });
    is_looking_ = true;
}

std::optional<std::string> Readiness::result() const {
    const stategraph::detail::LockGuard lock(mutex_);
    if (is_looking_ || !has_looked_) return {};
    return failed_;
}

std::string Readiness::failedOf(Endpoints& endpoints, Metrics& metrics) noexcept {
    for (auto each = endpoints.begin(); each != endpoints.end(); ++each) {
        const auto began = Clock::now();
        bool has_failed = false;
        try {
            each->second->checkStores();
        } catch (...) {  // the client is told the name alone
            has_failed = true;
        }
        metrics.countStore("check", Clock::now() - began);
        if (has_failed) return std::move(endpoints.extract(each).key());
    }
    return {};
}

}  // namespace stategraph::serve
