#pragma once

namespace stategraph::detail {

/// Skips what a model writes before its JSON: a code fence with or without a language, or a sentence. It ends before
/// the first `{`, or before a `[` that begins the text or the line after a fence.
class PartialLead {
public:
    /// Skips what is not JSON and returns where the JSON begins, or `end`.
    const char* skip(const char* at, const char* end);

private:
    enum class Place { start, sentence, fence, language, over };
    bool begins(char c);

    Place place_ = Place::start;
    int ticks_ = 0;
};

}  // namespace stategraph::detail
