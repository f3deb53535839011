#include <algorithm>
#include <iterator>

#include "inspect/commands.hpp"
#include "inspect/queue_views.hpp"
#include "inspect/thread_list.hpp"

namespace stategraph::inspect {
namespace {

Colour colourOfStatus(const std::string& status) {
    if (status == "failed" || status == "damaged" || status == "set_aside") return Colour::red;
    if (status == "interrupted") return Colour::yellow;
    return status == "done" ? Colour::green : Colour::blue;
}

void print(Call& call, const std::vector<ThreadView>& threads) {
    std::size_t width = 6;
    for (const ThreadView& thread : threads)
        width = std::max(width, std::min<std::size_t>(plain(thread.thread_id).size(), 40));
    const auto now = std::chrono::system_clock::now();
    for (const ThreadView& thread : threads) {
        std::string name = cut(plain(thread.thread_id), 40);
        name.resize(std::max(name.size(), width), ' ');
        std::string status = thread.status;
        status.resize(11, ' ');
        std::string age = thread.checkpoint_id.empty() ? "" : ageText(now - CheckpointId(thread.checkpoint_id).time());
        age.insert(0, age.size() < 7 ? 7 - age.size() : 0, ' ');
        std::string step = std::to_string(thread.step);
        step.insert(0, step.size() < 5 ? 5 - step.size() : 0, ' ');
        std::string what;
        for (const auto& next : thread.next) what += (what.empty() ? "" : ", ") + plain(next);
        for (const Value& question : thread.questions) what += "  ? " + plain(question.toJson());
        if (!thread.error.empty()) what += "  ! " + plain(thread.error);
        call.terminal.out() << name << "  " << call.terminal.in(colourOfStatus(thread.status), status) << age << step
                            << "  " << call.terminal.fit(what, width + 27) << '\n';
    }
}

}  // namespace

Exit listThreads(Call& call) {
    ThreadFilter filter{.status = call.arguments.value("--status"),
                        .since = call.arguments.age("--since"),
                        .text = call.arguments.value("--text"),
                        .limit = call.arguments.number("--limit", 50, 1)};
    if (const auto entry = call.arguments.value("--metadata")) filter.metadata.push_back(metadataEntryOf(*entry));
    const std::size_t limit = filter.limit;
    std::vector<ThreadView> threads;
    const bool is_aside = filter.status == toString(Status::set_aside);  // only the queue knows which
    if (is_aside) threads = threadsSetAside(call.shared_saver, limit);
    while (!is_aside) {
        filter.limit = limit - threads.size();
        ThreadList page = listThreadsOf(call.saver, filter);
        std::ranges::move(page.threads, std::back_inserter(threads));
        filter.before = std::move(page.next);
        if (!filter.before || threads.size() >= limit) break;
    }
    if (!is_aside) markSetAside(call.shared_saver, threads);
    if (call.asJson()) {
        call.terminal.out() << toJson(threads) << '\n';
        return Exit::done;
    }
    print(call, threads);
    if (filter.before) call.terminal.out() << call.terminal.in(Colour::dim, "… and more; --limit shows them") << '\n';
    return Exit::done;
}

}  // namespace stategraph::inspect
