#pragma once
#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include <stategraph/detail/mutex.hpp>
#include <stategraph/runtime.hpp>

// Keeps the types that answers must have, for the questions that this process asked, so that a wrong answer is refused
// before it is stored.
namespace stategraph::engine {

/// Returns the text of the error that refuses an answer.
std::string refusedAnswer(const std::string& node, const std::string& key, const WrongTypeError& why);

/// Keeps the newest questions of a graph's runs. Older ones are dropped: their answers are checked when the node reads
/// them. Safe from several threads.
class AskedQuestions {
public:
    struct Key {
        std::string thread;
        TaskId id;
        std::uint64_t index;
        auto operator<=>(const Key&) const = default;
    };
    struct Asked {
        std::string node;
        std::string key;  // the question's key, or empty
        detail::AnswerCheck check;
    };
    static constexpr std::size_t kept_max = 4096;

    void add(Key key, Asked asked);
    /// Throws WrongTypeError, naming the node, for an answer that the node would refuse.
    void check(const Key& key, const Value& answer) const;

private:
    mutable detail::Mutex mutex_;
    std::map<Key, Asked> asked_ SG_GUARDED_BY(mutex_);
    std::deque<Key> order_ SG_GUARDED_BY(mutex_);  // in the order in which they were first asked
};

}  // namespace stategraph::engine
