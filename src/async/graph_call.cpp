#include "src/run/graph_call.hpp"

#include <stategraph/detail/async.hpp>

#include "src/async/drive.hpp"

// Calls a graph from a coroutine, which awaits it.
namespace stategraph::detail {

struct AsyncCall::Impl {
    Runtime& runtime;
    std::shared_ptr<const Core> core;
    RunInput input;
    std::string key;
};

AsyncCall::AsyncCall(Runtime& runtime, std::shared_ptr<const Core> core, Writes&& input, std::string&& key)
    : impl_(new Impl{runtime, std::move(core), {}, std::move(key)}) {
    impl_->input.writes = std::move(input);
}

AsyncCall::~AsyncCall() = default;

Task<> AsyncCall::drive(void* values) {
    engine::GraphCall call(impl_->runtime, impl_->core, impl_->key);
    if (call.restore(values)) co_return;
    engine::Run& run = call.begin();
    RunOutcome outcome;
    std::exception_ptr thrown;
    try {
        outcome = co_await engine::driveAsync(run, std::move(impl_->input));
    } catch (...) {
        thrown = std::current_exception();
    }
    std::shared_ptr<engine::EffectPut> put = call.endLater([&]() -> const RunOutcome& {
        if (thrown) std::rethrow_exception(thrown);
        return outcome;
    });
    try {
        if (put) co_await EffectStored(std::move(put));
    } catch (...) {
        call.noteRefusal();
        thrown = std::current_exception();
    }
    markingFailures([&] {
        if (thrown) std::rethrow_exception(thrown);
        call.giveResult(values);
    });
}

}  // namespace stategraph::detail
