#pragma once
#include <string_view>

#include <stategraph/model/model.hpp>

namespace stategraph::model::http {

/// Puts an answer together from the events of its stream. Knows nothing of where they come from. Used by one thread at
/// a time.
class AnswerReader {
public:
    virtual ~AnswerReader() = default;
    /// An event of the stream. Errors: ModelError for what the provider says is an error, and for what is no event of
    /// its format.
    virtual void take(std::string_view name, std::string_view data) = 0;
    /// Whether the provider said why the model stopped: what may still come (usage) can be done without.
    virtual bool isComplete() const = 0;
    /// Whether nothing more comes.
    virtual bool isOver() const = 0;
    /// The answer; to be called once. Errors: ModelError if it is not complete.
    virtual Reply finish() = 0;
};

}  // namespace stategraph::model::http
