#include "worker/arguments.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace stategraph::workers {
namespace {

constexpr std::string_view help = R"(Options of a worker:
  --database CONNINFO   the database, as libpq names it; otherwise an environment variable names it
  --schema NAME         the schema of its tables (stategraph)
  --set-up              creates the tables before it begins
  --queue NAME[:WEIGHT[:LIMIT]]   a queue that it takes threads from; several are given one after the other (default)
  --slots N             how many threads it runs at once (8)
  --connections N       how many connections it may open (as many as slots, at least 8)
  --name NAME           the name that the queue shows as the owner (host:pid)
  --lease TIME          how long it keeps a thread without renewing the lease (30s)
  --poll TIME           how often it asks for work when it is idle (200ms)
  --listen              also asks as soon as the database notifies it (programs that give work send notifications)
  --attempts N          after this many without progress a thread is set aside (5)
  --backoff TIME        how long a thread whose run failed waits, doubled with each attempt (1s)
  --backoff-max TIME    the longest such wait (5m)
  --drain TIME          how long it waits for supersteps when it ends (30s)
  --keys-kept TIME      for how long keys of inputs are remembered (7d)
  --metrics TIME        how often it prints its metrics, as a line of JSON
  --help
TIME is a whole number with a unit: 250ms, 30s, 5m, 2h, 7d.
)";

std::int64_t number(std::string_view option, std::string_view text, std::int64_t least) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least)
        throw UsageError(std::string(option) + " takes a whole number of at least " + std::to_string(least) +
                         ", not '" + std::string(text) + "'");
    return value;
}

std::chrono::milliseconds duration(std::string_view option, std::string_view text) {
    constexpr std::pair<std::string_view, std::int64_t> units[] = {
        {"ms", 1}, {"s", 1'000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const auto& [name, ms] : units) {
        if (error == std::errc() && unit == name && value >= 0 &&
            value <= std::numeric_limits<std::int64_t>::max() / ms)
            return std::chrono::milliseconds(value * ms);
    }
    throw UsageError(std::string(option) + " takes a time, such as 250ms, 30s, 5m, 2h or 7d, not '" +
                     std::string(text) + "'");
}

// NAME, NAME:WEIGHT or NAME:WEIGHT:LIMIT. A name with a colon is given with both.
WorkerQueue queueOf(std::string_view option, std::string_view text) {
    WorkerQueue queue{.name = std::string(text)};
    const std::size_t last = text.rfind(':');
    if (last == std::string_view::npos) return queue;
    const std::size_t before = last == 0 ? std::string_view::npos : text.rfind(':', last - 1);
    const bool has_limit = before != std::string_view::npos;
    const std::size_t end = has_limit ? before : last;
    queue.name = text.substr(0, end);
    const std::string_view weight = text.substr(end + 1, has_limit ? last - end - 1 : std::string_view::npos);
    queue.weight = static_cast<int>(std::min<std::int64_t>(number(option, weight, 1), 1'000'000));
    if (has_limit) queue.limit = static_cast<std::size_t>(number(option, text.substr(last + 1), 1));
    return queue;
}

class Reader {
public:
    explicit Reader(const WorkerMainOptions& defaults)
        : read_{.worker = defaults.worker, .saver = defaults.saver, .database = {}} {
        time("--lease", read_.worker.lease);
        time("--poll", read_.worker.poll_interval);
        time("--backoff", read_.worker.backoff);
        time("--backoff-max", read_.worker.backoff_max);
        time("--drain", read_.worker.drain_timeout);
        time("--keys-kept", read_.worker.keys_kept);
        takers_["--database"] = [this](auto, std::string_view text) { read_.database = text; };
        takers_["--schema"] = [this](auto, std::string_view text) { read_.saver.schema = text; };
        takers_["--name"] = [this](auto, std::string_view text) { read_.worker.name = text; };
        takers_["--slots"] = [this](std::string_view option, std::string_view text) {
            read_.worker.slots = static_cast<std::size_t>(number(option, text, 1));
        };
        takers_["--connections"] = [this](std::string_view option, std::string_view text) {
            read_.saver.connections_max = static_cast<std::size_t>(number(option, text, 1));
            has_connections_ = true;
        };
        takers_["--attempts"] = [this](std::string_view option, std::string_view text) {
            const std::int64_t most = std::numeric_limits<int>::max();
            read_.worker.attempts_max = static_cast<int>(std::min(number(option, text, 1), most));
        };
        takers_["--metrics"] = [this](std::string_view option, std::string_view text) {
            read_.metrics = duration(option, text);
            if (read_.metrics->count() == 0) throw UsageError("--metrics takes a time of at least 1ms");
        };
        takers_["--queue"] = [this](std::string_view option, std::string_view text) {
            if (!has_queues_) read_.worker.queues.clear();
            has_queues_ = true;
            read_.worker.queues.push_back(queueOf(option, text));
        };
    }

    Arguments read(std::span<const char* const> words) {
        for (std::size_t i = 0; i < words.size(); ++i) {
            const std::string_view word = words[i];
            const std::size_t equals = word.find('=');
            const std::string_view option = word.substr(0, equals);
            if (word == "--help") {
                read_.wants_help = true;
            } else if (word == "--set-up") {
                read_.saver.set_up = true;
            } else if (word == "--listen") {
                read_.worker.listen = true;
            } else if (const auto taker = takers_.find(option); taker == takers_.end()) {
                throw UsageError("a worker has no option '" + std::string(word) + "'");
            } else if (equals != std::string_view::npos) {
                taker->second(option, word.substr(equals + 1));
            } else if (i + 1 < words.size()) {
                taker->second(option, words[++i]);
            } else {
                throw UsageError(std::string(option) + " needs a value after it");
            }
        }
        if (!has_connections_) read_.saver.connections_max = std::max(read_.saver.connections_max, read_.worker.slots);
        return std::move(read_);
    }

private:
    void time(const char* option, std::chrono::milliseconds& to) {
        takers_[option] = [&to](std::string_view name, std::string_view text) { to = duration(name, text); };
    }

    Arguments read_;
    std::map<std::string_view, std::function<void(std::string_view option, std::string_view text)>> takers_;
    bool has_connections_ = false;
    bool has_queues_ = false;
};

}  // namespace

Arguments readArguments(std::span<const char* const> words, const WorkerMainOptions& defaults) {
    Arguments arguments = Reader(defaults).read(words);
    if (!arguments.database.empty() || arguments.wants_help) return arguments;
    const char* const named = std::getenv(defaults.database_variable.c_str());
    if (named) arguments.database = named;
    if (arguments.database.empty())
        throw UsageError("no database is named: give --database, or set " + defaults.database_variable);
    return arguments;
}

const char* argumentsHelp() noexcept { return help.data(); }

}  // namespace stategraph::workers
