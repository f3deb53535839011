#include <optional>

#include <stategraph/error.hpp>

#include "json/folds.hpp"

namespace stategraph {
namespace {

namespace json = boost::json;
using detail::ChannelKind;

void requireNumbers(const json::value& value, const json::value& written) {
    for (const json::value* each : {&value, &written}) {
        if (!each->is_number())
            throw WrongTypeError("expected a number, found " + std::string(detail::kindName(each->kind())));
    }
}

// The exact sum of two integers, if it is a `To`.
template <class To>
std::optional<To> exactSum(const json::value& a, const json::value& b) {
    To sum = 0;
    bool overflows = false;
    if (a.is_int64()) {
        overflows = b.is_int64() ? __builtin_add_overflow(a.get_int64(), b.get_int64(), &sum)
                                 : __builtin_add_overflow(a.get_int64(), b.get_uint64(), &sum);
    } else {
        overflows = b.is_int64() ? __builtin_add_overflow(a.get_uint64(), b.get_int64(), &sum)
                                 : __builtin_add_overflow(a.get_uint64(), b.get_uint64(), &sum);
    }
    return overflows ? std::nullopt : std::optional<To>(sum);
}

json::value addNumbers(const json::value& value, const json::value& written) {
    requireNumbers(value, written);
    if (!value.is_double() && !written.is_double()) {
        if (const auto sum = exactSum<std::int64_t>(value, written)) return *sum;
        if (const auto sum = exactSum<std::uint64_t>(value, written)) return *sum;
    }
    return value.to_number<double>() + written.to_number<double>();
}

// Integers of either kind are compared exactly.
bool isLess(const json::value& a, const json::value& b) {
    if (a.is_double() || b.is_double()) return a.to_number<double>() < b.to_number<double>();
    if (a.is_int64() && b.is_int64()) return a.get_int64() < b.get_int64();
    if (a.is_uint64() && b.is_uint64()) return a.get_uint64() < b.get_uint64();
    if (a.is_int64()) return a.get_int64() < 0 || static_cast<std::uint64_t>(a.get_int64()) < b.get_uint64();
    return b.get_int64() >= 0 && a.get_uint64() < static_cast<std::uint64_t>(b.get_int64());
}

json::value lesser(const json::value& value, const json::value& written) {
    requireNumbers(value, written);
    return isLess(written, value) ? written : value;
}

json::value greater(const json::value& value, const json::value& written) {
    requireNumbers(value, written);
    return isLess(value, written) ? written : value;
}

}  // namespace

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
JsonReducer JsonReducer::sum(json::value initial) { return binary("sum", &addNumbers, std::move(initial)); }
JsonReducer JsonReducer::min(json::value initial) { return binary("min", &lesser, std::move(initial)); }
JsonReducer JsonReducer::max(json::value initial) { return binary("max", &greater, std::move(initial)); }
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
