#pragma once
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include <stategraph/model/model.hpp>

namespace stategraph::model::http {

/// Ends the waits of one `ask`: by its stop token, by the end of the run or the attempt to which it belongs, and by the
/// end of its task. `asking` must outlive this object. Thread-safe.
class Stopping {
public:
    explicit Stopping(const Asking& asking);
    Stopping(const Stopping&) = delete;
    Stopping& operator=(const Stopping&) = delete;

    void request() noexcept { source_.request_stop(); }
    bool isRequested() const noexcept { return source_.stop_requested(); }
    /// Throws CancelledError if a stop is requested.
    void check() const;
    std::stop_token token() const noexcept { return source_.get_token(); }

private:
    struct Request {
        std::stop_source source;
        void operator()() noexcept { source.request_stop(); }
    };
    std::stop_source source_;
    std::stop_callback<Request> asked_;
    std::stop_callback<Request> run_ended_;
};

/// Requests the stop when it is destroyed, unless it was released. What was awaited meanwhile is then abandoned.
class StopsAtEnd {
public:
    explicit StopsAtEnd(Stopping& stopping) noexcept : stopping_(&stopping) {}
    StopsAtEnd(const StopsAtEnd&) = delete;
    StopsAtEnd& operator=(const StopsAtEnd&) = delete;
    ~StopsAtEnd() {
        if (stopping_ != nullptr) stopping_->request();
    }
    void release() noexcept { stopping_ = nullptr; }

private:
    Stopping* stopping_;
};

}  // namespace stategraph::model::http
