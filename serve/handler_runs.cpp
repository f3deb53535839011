#include "serve/handler_runs.hpp"

#include <utility>

#include "serve/ownership.hpp"
#include "serve/run_table.hpp"
#include "serve/run_watch.hpp"
#include "serve/shared.hpp"

namespace stategraph::serve {

HandlerRuns::HandlerRuns(Server& server) : shared_(server.shared()) {}

std::shared_ptr<RunControl> HandlerRuns::begin(Start start) const {
    const std::shared_ptr<Shared> shared = shared_.lock();
    if (!shared) throw NotNowError("the server has ended");
    Asked asked;
    asked.route.name = start.name;
    asked.route.thread = start.thread.toString();
    asked.operation = "run";
    asked.identity = start.identity;
    const auto place =
        shared->runs->reserve(start.endpoint, start.thread, {}, start.identity ? start.identity->name : std::string());
    if (start.identity) runAs(*start.identity, start.config);
    const std::shared_ptr<ActiveRun> run =
        place->begin(watched(shared, asked, std::move(start.work)), std::move(start.config), std::move(start.then));
    return run->control();
}

bool HandlerRuns::areAllPlacesTaken() const {
    const std::shared_ptr<Shared> shared = shared_.lock();
    return shared && shared->runs->isFull();
}

void HandlerRuns::whenFree(std::function<void()> call) const {
    if (const std::shared_ptr<Shared> shared = shared_.lock()) shared->runs->whenFree(std::move(call));
}

std::optional<std::chrono::seconds> HandlerRuns::count(const std::optional<Identity>& identity, std::string_view remote,
                                                       std::size_t bytes, std::size_t runs) const {
    const std::shared_ptr<Shared> shared = shared_.lock();
    if (!shared) return {};
    const bool is_somebody = identity && !identity->name.empty();
    const Client client = is_somebody ? clientNamed(identity->name) : clientAt(remote);
    const auto now = Rates::Clock::now();
    if (const auto wait = shared->bytes_left.take(client, static_cast<double>(bytes), now)) {
        shared->metrics.countRefused("per_client.stored_bytes");
        return wait;
    }
    if (runs == 0) return {};
    const auto wait = shared->runs_left.take(client, static_cast<double>(runs), now);
    if (wait) shared->metrics.countRefused("per_client.runs");
    return wait;
}

ErrorText HandlerRuns::errorTexts(const std::string& name, const std::string& thread) const {
    const std::shared_ptr<Shared> shared = shared_.lock();
    if (!shared || shared->options.show_errors) return {};
    return [shared, told = shared->errors.texts({name, thread})](std::string_view what, std::string_view text) {
        return told(what, text);
    };
}

bool HandlerRuns::areOwned() const {
    const std::shared_ptr<Shared> shared = shared_.lock();
    return shared && shared->options.owned;
}

std::shared_ptr<Executor> HandlerRuns::executor() const {
    const std::shared_ptr<Shared> shared = shared_.lock();
    return shared && shared->options.executor ? shared->options.executor : Executor::common();
}

bool HandlerRuns::isEnding() const {
    const std::shared_ptr<Shared> shared = shared_.lock();
    return !shared || shared->is_draining || shared->has_ended;
}

}  // namespace stategraph::serve
