#include <stategraph/partial_display.hpp>

#include <deque>
#include <map>
#include <string>
#include <utility>

#include <boost/json/value.hpp>

#include <stategraph/error.hpp>

namespace stategraph {

namespace json = boost::json;

struct PartialDisplay::Impl {
    struct Item {
        std::string name;
        json::value value;
    };

    PartialDisplayOptions options;
    std::map<std::string, PartialJson, std::less<>> texts;
    std::deque<Item> items;
    /// The text that the last item shows, whose own value is then not set. Null if the item stays as it is.
    const PartialJson* shown = nullptr;
    std::uint64_t dropped = 0;

    PartialJson& textOf(std::string_view name) {
        const auto found = texts.find(name);
        if (found != texts.end()) return found->second;
        if (texts.size() == options.names_max) {
            throw InvalidArgumentError(
                "the display has texts of " + std::to_string(options.names_max) + " names already, '" +
                std::string(name) +
                "' is one more; end() those that have ended or raise PartialDisplayOptions::names_max");
        }
        return texts.try_emplace(std::string(name), options.json).first->second;
    }

    // Gives the last item a value of its own.
    void settle() {
        if (shown != nullptr) items.back().value = shown->lastValue();
        shown = nullptr;
    }

    void add(std::string_view name, json::value value) {
        settle();
        items.push_back({std::string(name), std::move(value)});
        if (items.size() <= options.items_max) return;
        items.pop_front();
        ++dropped;
    }
};

PartialDisplay::PartialDisplay(const PartialDisplayOptions& options) : impl_(std::make_unique<Impl>()) {
    if (options.items_max == 0) throw InvalidArgumentError("PartialDisplayOptions::items_max is 0; give at least 1");
    if (options.names_max == 0) throw InvalidArgumentError("PartialDisplayOptions::names_max is 0; give at least 1");
    PartialJson checks_options(options.json);
    impl_->options = options;
}
PartialDisplay::PartialDisplay(PartialDisplay&& other) noexcept = default;
PartialDisplay& PartialDisplay::operator=(PartialDisplay&& other) noexcept = default;
PartialDisplay::~PartialDisplay() = default;

PartialState PartialDisplay::replace(std::string_view name, std::string_view chunk) {
    PartialJson& text = impl_->textOf(name);
    const PartialState state = text.feed(chunk);
    if (text.hasValue() && impl_->shown != &text) {
        impl_->add(name, nullptr);
        impl_->shown = &text;
    }
    return state;
}

void PartialDisplay::append(std::string_view name, json::value value) { impl_->add(name, std::move(value)); }

PartialState PartialDisplay::end(std::string_view name) {
    const auto found = impl_->texts.find(name);
    if (found == impl_->texts.end()) return PartialState::undefined_input;
    const PartialState state = found->second.state();
    if (impl_->shown == &found->second) impl_->settle();
    impl_->texts.erase(found);
    return state;
}

PartialDisplayItem PartialDisplay::operator[](std::size_t index) const noexcept {
    const Impl::Item& item = impl_->items[index];
    const bool is_shown = impl_->shown != nullptr && index + 1 == impl_->items.size();
    return {item.name, is_shown ? impl_->shown->lastValue() : item.value};
}

std::size_t PartialDisplay::size() const noexcept { return impl_->items.size(); }
std::uint64_t PartialDisplay::dropped() const noexcept { return impl_->dropped; }

}  // namespace stategraph
