#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <stategraph/partial_json.hpp>

namespace stategraph {

/// One entry of a PartialDisplay. Both views are valid until the display is changed.
struct PartialDisplayItem {
    /// The process that the entry belongs to, such as a step or an agent.
    std::string_view name;
    const boost::json::value& value;
};

/// The limits of a PartialDisplay.
struct PartialDisplayOptions {
    /// The list has at most this many items; beyond that the oldest are dropped. At least 1.
    std::size_t items_max = 1000;
    /// There may be this many names at a time; more are an error. At least 1. `end` frees a name.
    std::size_t names_max = 100;
    /// The limits for the JSON of each name.
    PartialJsonOptions json = {};
};

/// A list for a user interface that shows processes which stream JSON answers: items with a name and a value.
///
/// Text *replaces*: the value of a name's text is shown in the last item if that is of this name, else in a new one.
/// Events, such as tool calls, are *appended*: each is an item. So after an event a process's text continues in a new
/// item. An object may be used by one thread at a time.
class PartialDisplay {
public:
    /// Begins an empty list. Errors: InvalidArgumentError for options that are out of range.
    explicit PartialDisplay(const PartialDisplayOptions& options = {});
    PartialDisplay(PartialDisplay&& other) noexcept;
    PartialDisplay& operator=(PartialDisplay&& other) noexcept;
    ~PartialDisplay();

    /// Feeds a chunk to the text of a name, which begins with its first chunk, and shows its value if it has one. A
    /// text that turns out not to be JSON stays shown as it was. Cost: that of PartialJson::feed; nothing is copied
    /// while the last item is of the name. When another item follows, its value is copied once.
    ///
    /// Errors: InvalidArgumentError for more than `names_max` names, and those of PartialJson::feed.
    PartialState replace(std::string_view name, std::string_view chunk);
    /// Adds an item that stays as it is.
    void append(std::string_view name, boost::json::value value);
    /// Ends the text of a name: its item stays, and its next chunk begins a new text in a new item. Returns the text's
    /// state; `undefined_input` if the name has none.
    PartialState end(std::string_view name);

    /// From 0, the oldest, to `size() - 1`.
    PartialDisplayItem operator[](std::size_t index) const noexcept;
    std::size_t size() const noexcept;
    /// How many items were dropped because there were more than `items_max`.
    std::uint64_t dropped() const noexcept;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace stategraph
