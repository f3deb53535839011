#include <chrono>
#include <memory>
#include <utility>

#include "inspect/http/api_call.hpp"

namespace stategraph::inspect {
namespace {

using Clock = std::chrono::steady_clock;

/// The parts of a request that are left when its head has been answered.
class FollowedRequest final : public serve::RequestView {
public:
    std::string_view method() const override { return "GET"; }
    std::string_view target() const override { return {}; }
    std::string_view header(std::string_view) const override { return {}; }
};

std::string withoutLineEnd(std::string text) {
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

/// Repeats a call.
class Follower {
public:
    Follower(ApiCall& call, const ApiRow& row, std::string first, std::shared_ptr<void> counted)
        : api_(call.api),
          counted_(std::move(counted)),
          row_(row),
          request_{view_, call.request.segments, call.request.query, {}},
          thread_(call.thread),
          checkpoint_(call.checkpoint),
          first_(withoutLineEnd(std::move(first))) {}
    Follower(const Follower&) = delete;
    Follower& operator=(const Follower&) = delete;

    std::string next() {
        if (last_.empty()) return last_ = std::move(first_);
        const auto began = Clock::now();
        if (began < not_before_) return {};
        ApiCall call{api_, request_, thread_, checkpoint_};
        std::string body = withoutLineEnd(row_.run(call).body);
        const auto ended = Clock::now();
        // A follower of a slow store keeps the store busy for at most a tenth of the time.
        not_before_ = ended + 9 * (ended - began);
        if (body == last_) return {};
        last_ = body;
        return body;
    }

private:
    Api& api_;
    const std::shared_ptr<void> counted_;
    const ApiRow& row_;
    const FollowedRequest view_;
    const serve::HandlerRequest request_;
    const std::string thread_;
    const std::string checkpoint_;
    std::string first_;
    std::string last_;
    Clock::time_point not_before_ = {};
};

}  // namespace

std::shared_ptr<void> countedFollower(Api& api) {
    auto counted = api.addFollower();
    if (counted) return counted;
    throw Refused{503, "more than " + std::to_string(Api::followers_max) +
                           " clients follow this server, and connections must remain for requests; close some pages"};
}

serve::HandlerAnswer followed(ApiCall& call, const ApiRow& row) {
    auto counted = countedFollower(call.api);
    const auto follower = std::make_shared<Follower>(call, row, row.run(call).body, std::move(counted));
    return {.events = serve::HandlerEvents{
                .next = [follower]() -> std::optional<std::string> { return follower->next(); }, .every = row.follow}};
}

}  // namespace stategraph::inspect
