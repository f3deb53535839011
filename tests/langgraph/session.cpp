#include "tests/langgraph/session.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "tests/langgraph/json_members.hpp"
#include "tests/serve/client.hpp"
#include "tests/support/until.hpp"

namespace session {

namespace {

constexpr std::size_t threads_max = 6;

client::Response send(std::uint16_t port, std::string_view method, const std::string& target, const json::value& body) {
    client::Connection connection(port);
    connection.request(method, target, body.is_null() ? std::string() : json::serialize(body));
    return connection.read();
}

json::value member(const json::value& of, std::string_view name) {
    const json::object* const object = of.if_object();
    const json::value* const found = object != nullptr ? object->if_contains(name) : nullptr;
    return found != nullptr ? *found : json::value();
}

/// What a client sees of a checkpoint, without ids and times.
std::string shown(const json::value& state) {
    const json::value metadata = member(state, "metadata");
    std::string text = json::serialize(member(metadata, "source")) + json::serialize(member(metadata, "step")) +
                       json::serialize(member(state, "next")) + json::serialize(member(state, "values"));
    const json::array tasks = member(state, "tasks").as_array();
    for (const json::value& task : tasks) {
        text += " " + json::serialize(member(task, "name")) + json::serialize(member(task, "error"));
        const json::array questions = member(task, "interrupts").as_array();
        for (const json::value& question : questions) text += json::serialize(member(question, "value"));
    }
    return text;
}

}  // namespace

Session::Session(const Plan& plan, std::uint16_t port, std::function<std::uint16_t()> restart)
    : plan_(plan), port_(port), restart_(std::move(restart)), random_(plan.seed), killing_(plan.seed + 1) {}

json::value Session::ask(std::string_view method, const std::string& target, const json::value& body, int status) {
    ++asked_;
    const client::Response response = send(port_, method, target, body);
    if (response.status != status)
        throw std::runtime_error(std::string(method) + " " + target + " " + json::serialize(body) + ": " +
                                 std::to_string(response.status) + " " + response.body);
    if (plan_.kill_one_of > 0 && std::uniform_int_distribution<unsigned>(1, plan_.kill_one_of)(killing_) == 1) {
        port_ = restart_();
        ++kills_;
    }
    return response.body.empty() ? json::value() : json::parse(response.body);
}

// Looks are not counted, because how many are needed depends on the time.
json::value Session::look(const std::string& target) { return json::parse(send(port_, "GET", target, nullptr).body); }
bool Session::isThere(const std::string& target) const { return send(port_, "GET", target, nullptr).status == 200; }

void Session::createThread() {
    std::string id = "00000000-0000-4000-8000-000000000000";
    const std::string name = nextName();
    id.replace(id.size() - name.size(), name.size(), name);
    (void)ask("POST", "/threads", {{"thread_id", id}, {"metadata", {{"name", name}, {"graph_id", "app"}}}});
    threads_.push_back({.id = id, .name = name});
}

void Session::begin(Thread& thread, json::object what, bool waits, const char* strategy) {
    what["assistant_id"] = "app";
    what["multitask_strategy"] = strategy;
    const std::string at = "/threads/" + thread.id + "/runs";
    if (!waits) {
        thread.runs.push_back(json_members::text(member(ask("POST", at, what), "run_id")));
        return;
    }
    const json::value result = ask("POST", at + "/wait", what);
    std::string seen = json::serialize(member(result, "log"));
    const json::value asked = member(result, "__interrupt__");
    if (asked.is_array()) seen = json::serialize(member(asked.get_array().at(0), "value"));
    note(thread.name + " waited for " + seen);
    thread.runs.push_back(json_members::text(member(look(at + "?limit=1000").as_array().back(), "run_id")));
}

void Session::beginOne(Thread& thread) {
    const bool waits = one(2) == 0;
    if (thread.stands == Stands::asks && one(2) == 0) {
        thread.stands = Stands::idle;
        return begin(thread, {{"command", {{"resume", "yes " + nextName()}}}}, waits);
    }
    const bool asks = one(3) == 0;
    thread.stands = asks ? Stands::asks : Stands::idle;
    begin(thread, {{"input", {{"name", (asks ? "ask " : "do ") + nextName()}}}}, waits);
}

void Session::beginSleeping(Thread& thread) {
    const std::string name = "sleep " + nextName();
    begin(thread, {{"input", {{"name", name}}}}, false);
    thread.stands = Stands::sleeps;
    patience::until([&] {
        const json::value values = member(look("/threads/" + thread.id + "/state"), "values");
        const json::value log = member(values, "log");
        return log.is_array() && !log.get_array().empty() && log.get_array().back() == json::value("first " + name);
    });
}

void Session::endSleeping(Thread& thread) {
    thread.stands = Stands::idle;
    const std::string run = "/threads/" + thread.id + "/runs/" + thread.runs.back();
    switch (one(4)) {
        case 0:
            thread.runs.pop_back();
            return begin(thread, {{"input", {{"name", "instead " + nextName()}}}}, true, "rollback");
        case 1:
            return begin(thread, {{"input", {{"name", "after " + nextName()}}}}, true, "interrupt");
        case 2:
            thread.runs.pop_back();
            (void)ask("POST", run + "/cancel?action=rollback", nullptr, 202);
            return patience::until([&] { return !isThere(run); });
        default:
            (void)ask("POST", run + "/cancel?wait=true", nullptr, 204);
    }
}

void Session::awaitEnd(const Thread& thread) {
    patience::until([&] { return member(look("/threads/" + thread.id), "status") != json::value("busy"); });
}

void Session::edit(Thread& thread) {
    awaitEnd(thread);
    (void)ask("POST", "/threads/" + thread.id + "/state",
              {{"values", {{"log", "edit " + nextName()}, {"name", "edited"}}}, {"as_node", "work"}});
    thread.stands = Stands::idle;
}

void Session::copy(Thread& thread) {
    awaitEnd(thread);
    const json::value made = ask("POST", "/threads/" + thread.id + "/copy");
    threads_.push_back(
        {.id = json_members::text(member(made, "thread_id")), .name = nextName(), .stands = thread.stands});
}

void Session::remove(std::size_t place) {
    awaitEnd(threads_[place]);
    (void)ask("DELETE", "/threads/" + threads_[place].id, nullptr, 204);
    threads_.erase(threads_.begin() + static_cast<std::ptrdiff_t>(place));
}

void Session::removeRun(Thread& thread) {
    awaitEnd(thread);
    const std::size_t place = one(thread.runs.size());
    (void)ask("DELETE", "/threads/" + thread.id + "/runs/" + thread.runs[place], nullptr, 204);
    thread.runs.erase(thread.runs.begin() + static_cast<std::ptrdiff_t>(place));
    const bool asks = member(look("/threads/" + thread.id), "status") == json::value("interrupted");
    thread.stands = asks ? Stands::asks : Stands::idle;
}

void Session::useStore() {
    const std::string key = "key " + std::to_string(one(5));
    if (one(3) == 0) {
        (void)ask("DELETE", "/store/items", {{"namespace", {"session"}}, {"key", key}}, 204);
    } else {
        (void)ask("PUT", "/store/items", {{"namespace", {"session"}}, {"key", key}, {"value", {{"n", nextName()}}}},
                  204);
    }
}

void Session::runAlone() {
    note("alone " + json::serialize(ask("POST", "/runs/wait",
                                        {{"assistant_id", "app"}, {"input", {{"name", "alone " + nextName()}}}})));
}

void Session::read(const Thread& thread) {
    switch (one(4)) {
        case 0:
            (void)ask("GET", "/threads/" + thread.id + "/state");
            return;
        case 1:
            (void)ask("GET", "/threads/" + thread.id + "/history");
            return;
        case 2:
            (void)ask("GET", "/threads/" + thread.id + "/runs");
            return;
        default:
            (void)ask("POST", "/threads/search", {{"metadata", {{"name", thread.name}}}});
    }
}

void Session::step() {
    if (threads_.empty() || (threads_.size() < threads_max && one(12) == 0)) return createThread();
    const std::size_t place = one(threads_.size());
    Thread& thread = threads_[place];
    const std::size_t what = one(20);
    if (what < 2) return useStore();
    if (what < 3) return runAlone();
    if (what < 5) return read(thread);
    if (thread.stands == Stands::sleeps) return endSleeping(thread);
    if (what < 6) {
        (void)ask("PATCH", "/threads/" + thread.id, {{"metadata", {{"word", nextName()}}}});
    } else if (what < 7) {
        edit(thread);
    } else if (what < 8 && threads_.size() < threads_max) {
        copy(thread);
    } else if (what < 9 && threads_.size() > 2) {
        remove(place);
    } else if (what < 11 && !thread.runs.empty()) {
        removeRun(thread);
    } else if (what < 13) {
        beginSleeping(thread);
    } else {
        beginOne(thread);
    }
}

void Session::readAll() {
    for (Thread& thread : threads_) {
        const std::string at = "/threads/" + thread.id;
        if (thread.stands == Stands::sleeps)
            (void)ask("POST", at + "/runs/" + thread.runs.back() + "/cancel?wait=true", nullptr, 204);
        awaitEnd(thread);
        const json::value seen = look(at);
        note(thread.name + " " + json::serialize(member(seen, "status")) + json::serialize(member(seen, "values")) +
             json::serialize(member(member(seen, "metadata"), "name")) +
             json::serialize(member(member(seen, "metadata"), "word")));
        note(thread.name + " now " + shown(look(at + "/state")));
        const json::value history = look(at + "/history?limit=1000");
        for (const json::value& each : history.as_array()) note(thread.name + " was " + shown(each));
        const json::value runs = look(at + "/runs?limit=1000");
        for (const json::value& each : runs.as_array())
            note(thread.name + " ran " + json::serialize(member(each, "status")) +
                 json::serialize(member(each, "multitask_strategy")));
    }
    for (const char* const status : {"idle", "busy", "interrupted", "error"})
        note(std::string(status) + " " + json::serialize(ask("POST", "/threads/count", {{"status", status}})));
    const json::value items = ask("POST", "/store/items/search", {{"namespace_prefix", {"session"}}, {"limit", 100}});
    const json::array found = member(items, "items").as_array();
    for (const json::value& each : found)
        note("item " + json::serialize(member(each, "key")) + json::serialize(member(each, "value")));
}

std::vector<std::string> Session::run() {
    while (asked_ < plan_.requests) step();
    readAll();
    return std::exchange(lines_, {});
}

}  // namespace session
