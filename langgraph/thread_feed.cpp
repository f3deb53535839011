#include "langgraph/thread_feed.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <stategraph/detail/json_text.hpp>

#include "langgraph/event_json.hpp"

namespace stategraph::langgraph {

namespace json = boost::json;

namespace {

constexpr std::size_t feeds_max = 10'000;
// How many of them are looked at when one is added, because those that are in use stay.
constexpr int looks_max = 16;
constexpr std::size_t places_max = 1'000;
// What one filter may have.
constexpr std::size_t namespaces_max = 100;
constexpr std::size_t depth_max = 100;

constexpr std::array<std::string_view, 4> members{"channels", "namespaces", "depth", "since"};

std::uint64_t microseconds() {
    const auto time = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

std::int64_t milliseconds() {
    const auto time = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

json::array placesJson(const std::vector<std::string>& ns) {
    json::array list;
    for (const std::string& each : ns) list.emplace_back(each);
    return list;
}

/// Whether a place is the one that a client names: literally, or by the node without its task.
bool isPlace(std::string_view place, std::string_view named) {
    return place == named || (named.find(':') == std::string_view::npos && place.substr(0, place.find(':')) == named);
}

bool beginsWith(const std::vector<std::string_view>& ns, const std::vector<std::string>& prefix) {
    return prefix.size() <= ns.size() &&
           std::equal(prefix.begin(), prefix.end(), ns.begin(),
                      [](std::string_view named, std::string_view place) { return isPlace(place, named); });
}

std::vector<std::string_view> splitAt(std::string_view text, char bar) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(bar), text.size());
        parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

}  // namespace

EventFilter::EventFilter(const Body& body) : channels_(body.texts("channels")) {
    if (!body.has("channels")) body.refuse("channels", "is required");
    for (const auto& each : body.members()) {
        const std::string_view name = each.key();
        if (std::ranges::find(members, name) == members.end()) body.refuse(name, "is not known");
    }
    if (const json::value* const given = body.find("namespaces")) {
        if (!given->is_array() || given->get_array().size() > namespaces_max)
            body.refuse("namespaces", "must be a list of at most " + std::to_string(namespaces_max) + " namespaces");
        for (const json::value& each : given->get_array()) {
            const json::array* const places = each.if_array();
            const auto is_text = [](const json::value& place) { return place.is_string(); };
            if (places == nullptr || places->size() > depth_max || !std::ranges::all_of(*places, is_text))
                body.refuse("namespaces", "a namespace is a list of texts");
            namespaces_.push_back(json::value_to<std::vector<std::string>>(each));
        }
    }
    depth_ = body.number("depth", 0, SIZE_MAX / 2);
}

bool EventFilter::wants(std::string_view name) const {
    const std::vector<std::string_view> parts = splitAt(name, '|');
    // Newer clients may ask for channels that this server does not have.
    if (std::ranges::find(channels_, parts.front()) == channels_.end()) return false;
    if (namespaces_.empty()) return true;
    const std::vector<std::string_view> ns(parts.begin() + 1, parts.end());
    return std::ranges::any_of(namespaces_, [&](const std::vector<std::string>& prefix) {
        return beginsWith(ns, prefix) && (!depth_ || ns.size() - prefix.size() <= *depth_);
    });
}

void ThreadFeed::add(std::string_view channel, const std::vector<std::string>& ns, json::object params) {
    params["namespace"] = placesJson(ns);
    if (!params.contains("timestamp")) params["timestamp"] = milliseconds();
    const std::string_view method = channel == "input" ? "input.requested" : channel;
    json::object event{{"method", method}, {"params", std::move(params)}};
    std::string name(channel);
    if (!ns.empty()) name += "|" + joined(ns);
    feed_.add(std::move(name), stategraph::detail::jsonText(event));
}

void ThreadFeed::addLifecycle(const std::vector<std::string>& ns, Lifecycle what) {
    {
        const stategraph::detail::LockGuard lock(mutex_);
        if (ns.empty() && what.event == "running") places_.clear();
        auto place = std::ranges::find(places_, ns, &Place::ns);
        if (place == places_.end() && places_.size() < places_max)
            place = places_.insert(place, {ns, {}, what.graph_name});
        if (place != places_.end()) place->status = what.event;
    }
    json::object data{{"event", what.event}, {"graph_name", what.graph_name}};
    if (!what.error.empty()) data["error"] = what.error;
    add("lifecycle", ns, {{"data", std::move(data)}});
}

RunFeed::Read ThreadFeed::read(std::uint64_t from, bool is_sse, const Wants& wants, std::uint64_t until) const {
    RunFeed::Read read = feed_.readAs(from, [&](std::uint64_t place, const RunFeed::Event& event, std::string& text) {
        if (place >= until || !wants(event.name)) return;
        const std::string number = std::to_string(place + 1);
        if (is_sse) {
            const std::string_view channel = std::string_view(event.name).substr(0, event.name.find('|'));
            text.append("event: ").append(channel == "input" ? "input.requested" : channel).append("\ndata: ");
        }
        text.append(R"({"type":"event","event_id":")").append(number).append(R"(","seq":)").append(number);
        text.append(",").append(std::string_view(event.data).substr(1));
        text.append(is_sse ? "\nid: " + number + "\n\n" : "\n");
    });
    read.next = std::min(read.next, until);
    return read;
}

json::value ThreadFeed::tree() const {
    const stategraph::detail::LockGuard lock(mutex_);
    if (places_.empty()) return nullptr;
    json::value root;
    // Each place comes after the one around it.
    for (const Place& place : places_) {
        json::value* around = &root;
        for (std::size_t depth = 1; depth < place.ns.size() + 1 && !root.is_null(); ++depth) {
            json::value& children = around->get_object()["children"];
            if (!children.is_array()) children = json::array();
            const json::array prefix =
                placesJson({place.ns.begin(), place.ns.begin() + static_cast<std::ptrdiff_t>(depth)});
            json::array& list = children.get_array();
            const auto known = std::ranges::find_if(
                list, [&](const json::value& child) { return child.at("namespace") == json::value(prefix); });
            around = known != list.end() ? &*known : &list.emplace_back(nullptr);
            if (around->is_null()) break;
        }
        *around = {{"namespace", placesJson(place.ns)}, {"status", place.status}, {"graph_name", place.graph_name}};
    }
    return root;
}

std::shared_ptr<ThreadFeed> ThreadFeeds::of(const std::string& owner, const std::string& thread_id,
                                            const std::function<bool()>& has_run) {
    if (std::shared_ptr<ThreadFeed> known = find(owner, thread_id)) return known;
    // Numbers are greater than those of other processes, of which none has sent a million events in a second.
    const std::uint64_t base = has_run() ? microseconds() : 0;
    auto feed = std::make_shared<ThreadFeed>(base, bytes_max_, all_);
    const stategraph::detail::LockGuard lock(mutex_);
    const std::string key = owner + "/" + thread_id;
    const auto [place, is_new] = by_key_.try_emplace(key, line_.end());
    if (!is_new) return place->second->feed;
    line_.push_back({key, feed});
    place->second = std::prev(line_.end());
    trimLocked();
    return feed;
}

std::shared_ptr<ThreadFeed> ThreadFeeds::find(const std::string& owner, const std::string& thread_id) const {
    const stategraph::detail::LockGuard lock(mutex_);
    const auto found = by_key_.find(owner + "/" + thread_id);
    return found == by_key_.end() ? nullptr : found->second->feed;
}

void ThreadFeeds::forget(const std::string& owner, const std::string& thread_id) {
    const stategraph::detail::LockGuard lock(mutex_);
    const auto found = by_key_.find(owner + "/" + thread_id);
    if (found == by_key_.end()) return;
    found->second->feed->end();
    line_.erase(found->second);
    by_key_.erase(found);
}

void ThreadFeeds::trim() {
    const stategraph::detail::LockGuard lock(mutex_);
    trimLocked();
}

void ThreadFeeds::trimLocked() {
    for (int looks = 0; looks < looks_max && !line_.empty(); ++looks) {
        if (line_.size() <= feeds_max && !all_->areTooMany()) return;
        const auto oldest = line_.begin();
        if (oldest->feed.use_count() > 1) {  // a run or a reader has it
            line_.splice(line_.end(), line_, oldest);
            continue;
        }
        by_key_.erase(oldest->key);
        line_.erase(oldest);
    }
}

}  // namespace stategraph::langgraph
