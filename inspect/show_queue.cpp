#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <stategraph/error.hpp>

#include "inspect/commands.hpp"
#include "inspect/queue_changes.hpp"
#include "inspect/queue_views.hpp"
#if STATEGRAPH_HAS_QUEUE
#include <stategraph/postgres_queue.hpp>
#include <stategraph/queue_query.hpp>
#endif

// queue: what the workers of a PostgreSQL database do. What people do about its threads is in queue_changes.cpp.
namespace stategraph::inspect {

#if STATEGRAPH_HAS_QUEUE
namespace {

/// What is known of all workers that serve a queue.
struct Serving {
    std::size_t alive = 0;
    std::size_t slots = 0;
    std::size_t held = 0;
};
Serving serving(const std::vector<QueueWorker>& workers, const std::string& queue) {
    Serving all;
    for (const QueueWorker& each : workers) {
        const auto serves = [&](const std::string& name) { return isQueueNamed(name, queue); };
        if (!each.is_alive || std::ranges::none_of(each.queues, serves)) continue;
        ++all.alive;
        all.slots += each.slots;
        all.held += each.held;
    }
    return all;
}

bool isFull(const QueueLimit& limit) { return limit.runs && limit.running >= *limit.runs; }

std::string whyReady(const QueuedThread& thread, const std::vector<QueueWorker>& workers,
                     const std::vector<QueueLimit>& limits) {
    if (std::ranges::none_of(workers, &QueueWorker::is_alive)) return "no worker is alive";
    const Serving all = serving(workers, thread.queue);
    if (all.alive == 0) return "no worker that is alive serves queue '" + thread.queue + "'";
    if (thread.epoch != 0)
        return "the lease of worker '" + thread.worker + "' has run out; a worker that has room continues it";
    if (thread.apart > 0)
        return "its workers died; it waits for one that runs at most " + std::to_string(thread.apart - 1) + " others";
    const auto limit = std::ranges::find(limits, thread.queue, &QueueLimit::queue);
    if (limit != limits.end() && isFull(*limit))
        return "workers have as many threads of queue '" + thread.queue + "' as its limit allows, " +
               std::to_string(*limit->runs);
    if (all.held >= all.slots)
        return "all " + std::to_string(all.slots) + " slots of the workers that serve it are taken";
    return "a worker takes it when it next asks";
}

std::string whyUnserved(const QueuedThread& thread, const std::vector<QueueWorker>& workers) {
    const bool has_graph = std::ranges::any_of(workers, [&](const QueueWorker& each) {
        return each.is_alive && std::ranges::find(each.graphs, thread.graph) != each.graphs.end();
    });
    if (!has_graph) return "no worker that is alive has graph '" + thread.graph + "'";
    return "no worker that serves queue '" + thread.queue + "' has graph '" + thread.graph +
           "' in a version that can run it";
}

std::string whyOf(const QueuedThread& thread, const std::vector<QueueWorker>& workers,
                  const std::vector<QueueLimit>& limits) {
    switch (thread.standing) {
        case QueueStanding::ready:
            return whyReady(thread, workers, limits);
        case QueueStanding::leased:
            return std::string(thread.is_cancelled ? "it is being cancelled; " : "") + "worker '" + thread.worker +
                   "' has it";
        case QueueStanding::later:
            return "it is tried again when it is due";
        case QueueStanding::sleeping:
            return "it sleeps until it is due";
        case QueueStanding::waiting:
            return "it waits for an answer";
        case QueueStanding::set_aside:
            return "no worker takes it before 'stategraph queue retry'";
        case QueueStanding::unserved:
            return whyUnserved(thread, workers);
    }
    return {};
}

QueueView viewOf(PostgresQueue& queue, std::optional<QueueStanding> standing, std::size_t limit) {
    QueueView view;
    for (const QueueStats& each : queue.stats())
        view.queues.push_back({each.queue, each.ready, each.leased, each.later, each.sleeping, each.waiting,
                               each.set_aside, each.unserved, each.inputs, each.oldest.count()});
    const auto workers = queue.workers();
    for (const QueueWorker& each : workers)
        view.workers.push_back({each.name, each.is_alive, each.queues, each.graphs, each.slots, each.held,
                                isoTime(each.since), isoTime(each.until)});
    const auto limits = queue.limits();
    for (const QueueLimit& each : limits) view.limits.push_back({each.queue, each.runs, each.rate, each.running});
    for (const QueuedThread& each : limit > 0 ? queue.list(standing, limit) : std::vector<QueuedThread>()) {
        QueuedThreadView& thread = view.threads.emplace_back();
        thread.thread_id = each.thread_id;
        thread.queue = each.queue;
        thread.graph = each.graph;
        thread.standing = toString(each.standing);
        thread.since = isoTime(each.since);
        if (each.due) thread.due = isoTime(*each.due);
        thread.worker = each.worker;
        thread.attempts = each.attempts;
        thread.inputs = each.inputs;
        thread.is_cancelled = each.is_cancelled;
        thread.why = whyOf(each, workers, limits);
        thread.error = each.error;
    }
    return view;
}

std::string counted(const QueueCountsView& queue) {
    std::string text;
    const auto add = [&](std::uint64_t count, const char* what) {
        if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
    };
    add(queue.ready, "ready");
    add(queue.unserved, "unserved");
    add(queue.leased, "leased");
    add(queue.later, "to be tried again");
    add(queue.sleeping, "sleeping");
    add(queue.waiting, "waiting for an answer");
    add(queue.set_aside, "set aside");
    add(queue.inputs, "inputs that wait");
    if (queue.ready > 0) text += ", the first due for " + ageText(std::chrono::milliseconds(queue.oldest_ms));
    return text;
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& each : names) text += (text.empty() ? "" : ", ") + plain(each);
    return text;
}

Colour colourOfStanding(const std::string& standing) {
    if (standing == "set_aside" || standing == "unserved") return Colour::red;
    return standing == "ready" || standing == "later" ? Colour::yellow : Colour::blue;
}

void print(Call& call, const QueueView& view) {
    auto& out = call.terminal.out();
    for (const QueueCountsView& each : view.queues)
        out << "queue " << plain(each.queue) << ": " << counted(each) << '\n';
    if (view.queues.empty()) out << "the queue is empty\n";
    for (const QueueWorkerView& each : view.workers) {
        out << "worker " << plain(each.name) << ": "
            << (each.is_alive ? std::string("alive") : call.terminal.in(Colour::red, "gone since " + each.until))
            << ", " << each.held << " of " << each.slots << " slots taken, graphs " << joined(each.graphs)
            << ", queues " << joined(each.queues) << ", since " << each.since << '\n';
    }
    for (const QueueLimitView& each : view.limits) {
        out << "limit of queue " << plain(each.queue) << ": " << each.running;
        if (each.runs) out << " of " << *each.runs;
        out << " with workers";
        if (each.rate) out << ", at most " << *each.rate << " claimed a second";
        out << '\n';
    }
    if (view.workers.empty()) out << call.terminal.in(Colour::yellow, "no worker is alive") << '\n';
    for (const QueuedThreadView& each : view.threads) {
        out << plain(each.thread_id) << "  " << call.terminal.in(colourOfStanding(each.standing), each.standing)
            << "  since " << each.since;
        if (each.due) out << "  due " << *each.due;
        out << "  attempt " << each.attempts << "  " << plain(each.why);
        if (!each.error.empty()) out << "  ! " << plain(each.error);
        out << '\n';
    }
}

/// A label's value as Prometheus reads it.
std::string label(const std::string& text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '\\' || c == '"') quoted += '\\';
        quoted += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return quoted + '"';
}

void printForPrometheus(std::ostream& out, const QueueView& view) {
    const auto head = [&](const char* name, const char* help) {
        out << "# HELP " << name << ' ' << help << "\n# TYPE " << name << " gauge\n";
    };
    head("stategraph_queue_threads", "Threads in the queue, by their standing.");
    for (const QueueCountsView& each : view.queues) {
        const std::pair<const char*, std::uint64_t> counts[] = {
            {"ready", each.ready},        {"unserved", each.unserved}, {"leased", each.leased},
            {"later", each.later},        {"sleeping", each.sleeping}, {"waiting", each.waiting},
            {"set_aside", each.set_aside}};
        for (const auto& [standing, count] : counts)
            out << "stategraph_queue_threads{queue=" << label(each.queue) << ",standing=\"" << standing << "\"} "
                << count << '\n';
    }
    head("stategraph_queue_inputs", "Inputs that wait.");
    for (const QueueCountsView& each : view.queues)
        out << "stategraph_queue_inputs{queue=" << label(each.queue) << "} " << each.inputs << '\n';
    head("stategraph_queue_oldest_seconds", "How long the first of the ready threads has been due.");
    for (const QueueCountsView& each : view.queues)
        out << "stategraph_queue_oldest_seconds{queue=" << label(each.queue) << "} "
            << static_cast<double>(each.oldest_ms) / 1000 << '\n';
    head("stategraph_queue_limit", "How many threads of a queue workers may have at once.");
    for (const QueueLimitView& each : view.limits) {
        if (each.runs) out << "stategraph_queue_limit{queue=" << label(each.queue) << "} " << *each.runs << '\n';
    }
    head("stategraph_queue_workers", "Workers that are alive.");
    out << "stategraph_queue_workers " << std::ranges::count_if(view.workers, &QueueWorkerView::is_alive) << '\n';
    head("stategraph_queue_slots", "Slots of a worker that is alive.");
    for (const QueueWorkerView& each : view.workers) {
        if (each.is_alive) out << "stategraph_queue_slots{worker=" << label(each.name) << "} " << each.slots << '\n';
    }
    head("stategraph_queue_held", "Threads that a worker has.");
    for (const QueueWorkerView& each : view.workers) {
        if (each.is_alive) out << "stategraph_queue_held{worker=" << label(each.name) << "} " << each.held << '\n';
    }
}

}  // namespace

QueueView readQueue(const std::shared_ptr<BaseCheckpointSaver>& saver, const std::optional<std::string>& standing,
                    std::size_t limit) {
    PostgresQueue queue(queueSaverOf(saver));
    return viewOf(queue, queueStandingOf(standing), limit);
}

Exit showQueue(Call& call) {
    auto& out = call.terminal.out();
    if (!call.arguments.places().empty()) return changeQueue(call);
    const bool is_for_prometheus = call.arguments.has("--prometheus");
    const std::size_t limit = is_for_prometheus ? 0 : call.arguments.number("--limit", 50, 0);
    const QueueView view = readQueue(call.shared_saver, call.arguments.value("--standing"), limit);
    if (is_for_prometheus)
        printForPrometheus(out, view);
    else if (call.asJson())
        out << toJson(view) << '\n';
    else
        print(call, view);
    return Exit::done;
}
#else
QueueView readQueue(const std::shared_ptr<BaseCheckpointSaver>&, const std::optional<std::string>&, std::size_t) {
    failWithoutQueue();
}
Exit showQueue(Call& /*call*/) { failWithoutQueue(); }
#endif

}  // namespace stategraph::inspect
