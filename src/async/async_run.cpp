#include <stategraph/detail/async.hpp>

#include "src/async/drive.hpp"
#include "src/run/invoke.hpp"
#include "src/run/submit.hpp"

namespace stategraph::detail {

struct AsyncRun::Impl {
    std::shared_ptr<const Core> core;
    RunInput input;
    RunConfig config;
};

AsyncRun::AsyncRun(std::shared_ptr<const Core> core, RunInput&& input, const RunConfig& config)
    : impl_(new Impl{std::move(core), std::move(input), config}) {}

AsyncRun::~AsyncRun() = default;

Task<> AsyncRun::drive(RunOutcome& outcome, void* values) {
    const Core& core = *impl_->core;
    co_await OwnHome(homeOf(core.executor()));
    try {
        engine::Events silent;
        engine::RunShared shared = engine::shareRun(core, impl_->config, silent);
        engine::Run run(core, shared, nullptr, engine::placeOf(core, shared, values));
        outcome = co_await engine::driveAsync(run, std::move(impl_->input));
        engine::giveValues(run, values, nullptr);
    } catch (Error& error) {
        engine::addRunContext(error, impl_->config);
        throw;
    }
}

Task<Config> AsyncRun::submit() {
    const Core& core = *impl_->core;
    co_await OwnHome(homeOf(core.executor()));
    try {
        engine::Submission submission(core, impl_->input, impl_->config);
        Config stored;
        {
            engine::Run run(core, submission.shared());
            stored = (co_await engine::driveAsync(run, std::move(impl_->input))).config;
        }
        co_return submission.end(std::move(stored));
    } catch (Error& error) {
        engine::addRunContext(error, impl_->config);
        throw;
    }
}

}  // namespace stategraph::detail
