#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <stategraph/detail/member.hpp>
#include <stategraph/detail/value_ops.hpp>
#include <stategraph/ids.hpp>
#include <stategraph/names.hpp>
#include <stategraph/update.hpp>
#include <stategraph/value.hpp>

namespace stategraph {

/// The virtual node at which every graph begins.
inline constexpr const char* START = "__start__";
/// The virtual node at which a path of the graph ends.
inline constexpr const char* END = "__end__";

/// Names for StateUpdate::as_node in addition to nodes, START and END.
///
/// INPUT: the values wait as the graph's input, as if a process had died as soon as it had stored them; START is due,
/// in addition to what was due. COPY: a sibling of the checkpoint, with its values and the same tasks due, of which
/// nothing is finished or answered.
inline constexpr const char* INPUT = "__input__";
/// See INPUT.
inline constexpr const char* COPY = "__copy__";

/// The input of a run that resumes or replays: continue with the state that the thread has.
class ResumeTag {
    struct Key {};

public:
    constexpr explicit ResumeTag(Key) noexcept {}  // not from {}, because that is an empty update
    static constexpr ResumeTag make() noexcept { return ResumeTag(Key{}); }
};
/// Resumes a thread: pass it to `invoke` instead of an input.
inline constexpr ResumeTag RESUME = ResumeTag::make();

/// One task of the next superstep: runs `node` with exactly this payload as its input, next to other tasks of the same
/// node. A payload that is a Value (or a boost::json::value) becomes what the node takes, as Value::asStrict reads it;
/// one that does not fit is an InvalidUpdateError of the task that sends it.
class Send {
public:
    template <class P>
    Send(std::string node, P payload) : node_(std::move(node)), payload_(detail::AnyValue::of<P>(std::move(payload))) {}
    Send(std::string node, const char* payload);

    const std::string& node() const noexcept { return node_; }
    const detail::AnyValue& payload() const noexcept { return payload_; }

private:
    friend class Target;
    std::string node_;
    detail::AnyValue payload_;
};

// Its text is in names.hpp.
/// The name of a node with the type of its payload (names.hpp explains it).
template <class Payload>
struct NodeId {
    const char* name;
    operator std::string() const { return name; }
    Send operator()(Payload payload) const { return Send(name, std::move(payload)); }
};

/// Where a Command or a router leads: nodes' names and Sends, in order.
class Target {
public:
    Target(const char* node) : node_(node) {}
    Target(std::string node) : node_(std::move(node)) {}
    Target(std::string_view node) : node_(node) {}
    Target(const Send& send) : node_(send.node()), payload_(send.payload()), is_send_(true) {}
    Target(Send&& send) noexcept : node_(std::move(send.node_)), payload_(std::move(send.payload_)), is_send_(true) {}

    const std::string& node() const noexcept { return node_; }
    bool isSend() const noexcept { return is_send_; }
    const detail::AnyValue& payload() const noexcept { return payload_; }

private:
    std::string node_;
    detail::AnyValue payload_;
    bool is_send_ = false;
};

/// A list of targets: names of nodes and Sends.
class Targets {
public:
    Targets() = default;
    Targets(std::initializer_list<Target> targets);
    template <class T>
        requires std::is_constructible_v<Target, const T&>
    Targets(const T& target) {
        targets_.emplace_back(target);
    }
    template <class T>
        requires std::is_constructible_v<Target, const T&>
    Targets(const std::vector<T>& targets) : targets_(targets.begin(), targets.end()) {}

    void add(Target target);
    bool empty() const noexcept { return targets_.empty(); }
    auto begin() const noexcept { return targets_.begin(); }
    auto end() const noexcept { return targets_.end(); }
    /// Returns all of them and leaves none.
    std::vector<Target> take() && noexcept { return std::move(targets_); }

private:
    std::vector<Target> targets_;
};

/// The graph to which a Command applies: that of the node that returns it, or the graph around that one.
enum class CommandGraph : std::uint8_t { current, parent };
/// In a Command: the graph around this one.
inline constexpr CommandGraph PARENT = CommandGraph::parent;

/// The answer to one open interrupt, named by its id (`{interrupt.id, value}`) or by its key (`{"approve", value}`). A
/// key must be that of exactly one open interrupt: if several tasks ask with the same key, name each interrupt by its
/// id.
struct Answer {
    Answer(TaskId asked, Value given) : interrupt_id(asked), value(std::move(given)) {}
    Answer(std::string_view named, Value given) : value(std::move(given)), key(named) {}
    Answer(const std::string& named, Value given) : Answer(std::string_view(named), std::move(given)) {}
    Answer(const char* named, Value given) : Answer(std::string_view(named), std::move(given)) {}

    /// Names the interrupt. Empty: its key names it.
    TaskId interrupt_id;
    Value value;
    std::string key;
};

/// The answers of a Command. A list that was given and is empty is refused (UnknownInterruptError), since its caller
/// means to answer; a list that was left out is none.
class Answers : public std::vector<Answer> {
public:
    Answers() = default;
    Answers(std::vector<Answer> answers) : vector(std::move(answers)), is_given_(true) {}
    Answers(std::initializer_list<Answer> answers) : vector(answers), is_given_(true) {}
    bool areGiven() const noexcept { return is_given_ || !empty(); }

private:
    bool is_given_ = false;
};

namespace detail {
struct NoState {};
}  // namespace detail

/// The type of a Command without an update, such as `Command{.resume = …}`.
template <>
class Update<detail::NoState> : public detail::Writes {
public:
    Update() = default;
};

/// Update and control flow in one.
///
/// A node returns it to write `update` and to go to `go_to`, in addition to the node's static edges; with `graph =
/// PARENT` both apply to the graph around this one. The update is then one of the parent's state (`Command<Parent>`),
/// or of the node's own state if the parent has channels of the same names. A caller gives it to a run: `resume`
/// answers the one open interrupt, `answers` answers several or named ones, `update` becomes part of the superstep that
/// waits, and `go_to` adds tasks.
template <class S = detail::NoState>
struct Command {
    detail::Member<Value> resume = {};
    detail::Member<Answers> answers = {};
    detail::Member<Update<S>> update = {};
    detail::Member<Targets> go_to = {};
    CommandGraph graph = CommandGraph::current;

    /// A Command that only answers or goes somewhere fits every graph.
    template <class T>
        requires std::is_same_v<S, detail::NoState>
    operator Command<T>() const {
        return {.resume = resume, .answers = answers, .go_to = go_to, .graph = graph};
    }
};

namespace detail {
template <class T>
inline constexpr bool is_command = false;
template <class C>
inline constexpr bool is_command<Command<C>> = true;
}  // namespace detail
/// Answers the open question: `app.invoke(sg::resume(Decision{true, "Ada"}), {.thread_id = "A"})`. Several questions
/// are answered with
/// `sg::resume({{id, value}, …})`. Takes anything storable.
template <class V>
    requires std::is_constructible_v<Value, V&&>
Command<> resume(V&& value) {
    Command<> command;
    command.resume = Value(std::forward<V>(value));
    return command;
}
Command<> resume(std::vector<Answer> answers);

/// Returns a Command that goes to a node, a Send or several of either, and writes: `return sg::go("pay",
/// sg::add<&Payment::log>("approved"));`.
Command<> go(Targets to);
template <class S>
Command<S> go(Targets to, Update<S> update) {
    Command<S> command;
    command.update = std::move(update);
    command.go_to = std::move(to);
    return command;
}
template <class First, class... More>
    requires(!std::is_void_v<detail::StateOfWrite<First>>)
auto go(Targets to, First&& first, More&&... more) {
    return go(std::move(to), update(std::forward<First>(first), std::forward<More>(more)...));
}

}  // namespace stategraph
