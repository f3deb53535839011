#pragma once
#include <string_view>

#include <stategraph/model/model.hpp>

namespace stategraph::model::http {

/// Assembles an answer from the events of its stream. It does not know where the events come from. Used by one thread
/// at a time.
class AnswerReader {
public:
    virtual ~AnswerReader() = default;
    /// Takes an event of the stream. Errors: ModelError if the provider reports an error, and for an event that does
    /// not match its format.
    virtual void take(std::string_view name, std::string_view data) = 0;
    /// Returns whether the provider has said why the model stopped. What may follow (usage) is optional.
    virtual bool isComplete() const = 0;
    /// Returns whether no more events come.
    virtual bool isOver() const = 0;
    /// Returns the answer. Call it once. Errors: ModelError if it is not complete.
    virtual Reply finish() = 0;
};

}  // namespace stategraph::model::http
