#include <ostream>

#include <stategraph/detail/json_text.hpp>
#include <stategraph/error.hpp>

#include "json/layout.hpp"
#include "src/value/lasting.hpp"

namespace stategraph {

namespace json = boost::json;

JsonState::JsonState(const JsonSchema& schema, const json::object& values) {
    const auto layout = detail::JsonLayout::of(schema);
    *this = detail::JsonLayout::makeState(*layout);
    for (const auto& entry : values) layout->assign(*this, std::string_view(entry.key()), entry.value());
}

bool JsonState::has(std::string_view channel) const noexcept {
    const detail::ChannelSpec* spec = layout_ != nullptr ? layout_->schema.find(channel) : nullptr;
    return spec != nullptr && slots_[spec->index].set;
}

const json::value* JsonState::find(std::string_view channel) const {
    if (layout_ == nullptr) return nullptr;
    const detail::ChannelSpec* spec = layout_->schema.find(channel);
    if (spec == nullptr || !slots_[spec->index].set) return nullptr;
    return &slots_[spec->index].json.get();
}

const json::value& JsonState::at(std::string_view channel) const {
    if (const json::value* value = find(channel)) return *value;
    if (layout_ == nullptr || layout_->schema.find(channel) == nullptr) {
        detail::failUnknownChannel(channel, layout_ ? &layout_->schema : nullptr);
    }
    throw InvalidArgumentError("channel '" + std::string(channel) + "' is unset: call has() first",
                               {.channel = std::string(channel)});
}

const json::value& JsonState::operator[](std::string_view channel) const {
    static const engine::Lasting<json::value> null;
    if (const json::value* value = find(channel)) return *value;
    if (layout_ == nullptr || layout_->schema.find(channel) == nullptr) {
        detail::failUnknownChannel(channel, layout_ ? &layout_->schema : nullptr);
    }
    return *null;
}

SharedJson JsonState::shared(std::string_view channel) const {
    const detail::ChannelSpec* spec = layout_ != nullptr ? layout_->schema.find(channel) : nullptr;
    if (spec == nullptr) detail::failUnknownChannel(channel, layout_ ? &layout_->schema : nullptr);
    return slots_[spec->index].set ? slots_[spec->index].json : SharedJson();
}

json::object JsonState::toObject() const {
    json::object object;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (layout_ != nullptr && slots_[i].set)
            object.emplace(layout_->schema.channel(i).name, slots_[i].json.toValue());
    }
    return object;
}

std::ostream& operator<<(std::ostream& out, const JsonState& state) {
    return out << detail::jsonText(state.toObject());
}

}  // namespace stategraph
