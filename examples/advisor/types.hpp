#pragma once
#include <string>
#include <vector>

#include <stategraph/channel.hpp>
#include <stategraph/fields.hpp>

// The values that the advisor's steps pass on. Each of the three is the answer of an agent: its JSON Schema is sent to
// the model, and the answer is checked against the type.
namespace advisor {

namespace sg = stategraph;

struct Profile {
    std::string goal = {};
    std::string level = {};
    int hours_per_week = 0;
    std::vector<std::string> needs = {};
    static constexpr auto fields() {
        return sg::fields(sg::field("goal", &Profile::goal), sg::field("level", &Profile::level),
                          sg::field("hours_per_week", &Profile::hours_per_week), sg::field("needs", &Profile::needs));
    }
};

struct Finding {
    std::string claim = {};
    std::string url = {};
    static constexpr auto fields() {
        return sg::fields(sg::field("claim", &Finding::claim), sg::field("url", &Finding::url));
    }
};
struct Research {
    std::string summary = {};
    std::vector<Finding> findings = {};
    static constexpr auto fields() {
        return sg::fields(sg::field("summary", &Research::summary), sg::field("findings", &Research::findings));
    }
};

struct Week {
    std::string topic = {};
    int hours = 0;
    static constexpr auto fields() {
        return sg::fields(sg::field("topic", &Week::topic), sg::field("hours", &Week::hours));
    }
};
struct Plan {
    std::string title = {};
    std::vector<Week> weeks = {};
    bool is_booked = false;
    std::string advice = {};
    static constexpr auto fields() {
        return sg::fields(sg::field("title", &Plan::title), sg::field("weeks", &Plan::weeks),
                          sg::field("is_booked", &Plan::is_booked), sg::field("advice", &Plan::advice));
    }
};

/// The graph's state: what the learner says, and the result of each step.
struct State {
    std::string request = {};
    Profile profile = {};
    Research research = {};
    Plan plan = {};
    static constexpr auto channels() {
        return sg::channels(sg::channel("request", &State::request), sg::channel("profile", &State::profile),
                            sg::channel("research", &State::research), sg::channel("plan", &State::plan));
    }
};

/// Arguments of tools.
struct Query {
    std::string query = {};
    static constexpr auto fields() { return sg::fields(sg::field("query", &Query::query)); }
};
struct Booking {
    std::string course = {};
    int price = 0;
    static constexpr auto fields() {
        return sg::fields(sg::field("course", &Booking::course), sg::field("price", &Booking::price));
    }
};
/// A result of the search tool.
struct Page {
    std::string title = {};
    std::string url = {};
    static constexpr auto fields() {
        return sg::fields(sg::field("title", &Page::title), sg::field("url", &Page::url));
    }
};

}  // namespace advisor
