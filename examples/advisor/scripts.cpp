#include "scripts.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <stategraph/value.hpp>

#include "types.hpp"

namespace advisor {

namespace model = stategraph::model;
using model::Message;
using model::Request;
using model::Role;

namespace {

/// Returns the messages after the user's last one, which show what the agent has done in this turn.
std::span<const Message> turnOf(const Request& request) {
    std::size_t begin = request.messages.size();
    while (begin > 0 && request.messages[begin - 1].role != Role::user) --begin;
    return request.messages.subspan(begin);
}

std::string saidBy(const Request& request) {
    const std::size_t turn = turnOf(request).size();
    return turn < request.messages.size() ? request.messages[request.messages.size() - turn - 1].text() : std::string();
}

std::size_t answersIn(const Request& request) {
    const auto turn = turnOf(request);
    return static_cast<std::size_t>(
        std::count_if(turn.begin(), turn.end(), [](const Message& each) { return each.role == Role::assistant; }));
}

/// Returns whether the turn's last call succeeded.
bool hasSucceeded(const Request& request) {
    return !request.messages.empty() && request.messages.back().result && !request.messages.back().result->is_error;
}

template <class Args>
model::ToolCall call(std::string id, std::string tool, const Args& arguments) {
    return {{}, std::move(id), std::move(tool), sg::toJson(arguments)};
}

const Booking workshop{"Concurrency in practice", 120};

}  // namespace

Message profileScript(const Request& request) {
    Profile profile;
    profile.goal = saidBy(request);
    profile.level = profile.goal.find("beginner") != std::string::npos ? "beginner" : "advanced";
    profile.hours_per_week = 4;
    profile.needs = {"an overview of coroutines", "exercises with real servers", "somebody to review the code"};
    return model::assistant(sg::toJson(profile));
}

Message researchScript(const Request& request) {
    switch (answersIn(request)) {
        case 0:
            return model::assistant({call("s1", "webSearch", Query{"coroutine tutorials"}),
                                     call("s2", "webSearch", Query{"server exercises"})});
        case 1:
            return model::assistant({call("s3", "webSearch", Query{"concurrency courses"})});
        default:
            break;
    }
    Research research;
    research.summary =
        "Tutorials explain coroutines well, exercises are scattered, and one course has reviews by people.";
    research.findings = {{"A tutorial builds a task type step by step", "https://learn.example/tasks"},
                         {"A collection of exercises ends with an echo server", "https://learn.example/echo"},
                         {"A course reviews what its students write", "https://learn.example/course"}};
    return model::assistant(sg::toJson(research));
}

Message synthesisScript(const Request& request) {
    if (answersIn(request) == 0) return model::assistant({call("b1", "bookCourse", workshop)});
    Plan plan;
    plan.title = "Coroutines in four weeks";
    plan.is_booked = hasSucceeded(request);
    plan.weeks = {{"Awaiting and suspending", 4}, {"A task type of your own", 4}, {"An echo server", 6}};
    plan.weeks.push_back(plan.is_booked ? Week{"The course, with reviews of the server", 8}
                                        : Week{"Reviews by a friend", 2});
    plan.advice = plan.is_booked ? "The course is booked. Finish the server before it begins."
                                 : "Without the course, ask a friend to read your server.";
    return model::assistant(sg::toJson(plan));
}

Message tutorScript(const Request& request) {
    Message message;
    switch (answersIn(request)) {
        case 0:
            message = model::assistant({call("s1", "webSearch", Query{"concurrency courses"})});
            message.content.emplace_back(model::Reasoning{"A course would help.", {}});
            message.content.emplace_back(model::Text{"I look for a course."});
            return message;
        case 1:
            message = model::assistant({call("b1", "bookCourse", workshop)});
            message.content.emplace_back(model::Text{"There is one with reviews."});
            return message;
        default:
            return model::assistant(hasSucceeded(request) ? "The course is booked."
                                                          : "Then let us go on without a course.");
    }
}

}  // namespace advisor
