#include <stategraph/error.hpp>

#include "json/folds.hpp"

namespace stategraph {

namespace json = boost::json;
using detail::ChannelKind;

JsonReducer::JsonReducer(ChannelKind kind, std::string name, const detail::Behaviour& behaviour, json::value initial,
                         std::shared_ptr<const void> context)
    : kind_(kind),
      name_(std::move(name)),
      behaviour_(&behaviour),
      initial_(detail::ownJson(std::move(initial))),
      context_(std::move(context)) {}

JsonReducer JsonReducer::lastValue() { return {ChannelKind::last_value, "", detail::json_replace}; }
JsonReducer JsonReducer::anyValue() { return {ChannelKind::any_value, "", detail::json_replace}; }
JsonReducer JsonReducer::ephemeral() { return {ChannelKind::ephemeral, "", detail::json_replace}; }
JsonReducer JsonReducer::untracked() { return {ChannelKind::untracked, "", detail::json_replace}; }
JsonReducer JsonReducer::append(json::array initial) {
    return {ChannelKind::reduced, "append", detail::json_append, json::value(std::move(initial))};
}
JsonReducer JsonReducer::topic() { return {ChannelKind::topic, "topic", detail::json_topic}; }
JsonReducer JsonReducer::sum(json::value initial) { return {stategraph::sum, std::move(initial)}; }
JsonReducer JsonReducer::min(json::value initial) { return {stategraph::min, std::move(initial)}; }
JsonReducer JsonReducer::max(json::value initial) { return {stategraph::max, std::move(initial)}; }
JsonReducer JsonReducer::merge(json::object initial) {
    return {ChannelKind::reduced, "merge", detail::json_merge, json::value(std::move(initial))};
}
JsonReducer JsonReducer::messages() {
    return {ChannelKind::reduced, "messages", detail::json_messages, json::value(json::array())};
}
JsonReducer JsonReducer::binary(std::string name, Function f, json::value initial) {
    if (!f) throw InvalidArgumentError("the reducer '" + name + "' has no function");
    return {ChannelKind::reduced, std::move(name), detail::json_binary, std::move(initial),
            std::make_shared<const detail::JsonFunction>(detail::JsonFunction{std::move(f), {}})};
}
JsonReducer JsonReducer::binaryShared(std::string name, SharedFunction f, json::value initial) {
    if (!f) throw InvalidArgumentError("the reducer '" + name + "' has no function");
    return {ChannelKind::reduced, std::move(name), detail::json_binary, std::move(initial),
            std::make_shared<const detail::JsonFunction>(detail::JsonFunction{{}, std::move(f)})};
}

}  // namespace stategraph
