#include <stategraph/partial_json.hpp>

#include "json/partial_scanner.hpp"

namespace stategraph {
namespace {

namespace json = boost::json;

const json::value& noValue() noexcept {
    static const json::value none = nullptr;
    return none;
}

}  // namespace

const char* toString(PartialState state) noexcept {
    switch (state) {
        case PartialState::undefined_input:
            return "undefined-input";
        case PartialState::successful_parse:
            return "successful-parse";
        case PartialState::repaired_parse:
            return "repaired-parse";
        case PartialState::failed_parse:
            return "failed-parse";
    }
    return "unknown";
}

struct PartialJson::Impl {
    explicit Impl(const PartialJsonOptions& options) : scanner(options) {}
    detail::PartialScanner scanner;
};

PartialJson::PartialJson(const PartialJsonOptions& options) : impl_(std::make_unique<Impl>(options)) {}
PartialJson::PartialJson(PartialJson&& other) noexcept = default;
PartialJson& PartialJson::operator=(PartialJson&& other) noexcept = default;
PartialJson::~PartialJson() = default;

PartialState PartialJson::feed(std::string_view chunk) {
    impl_->scanner.feed(chunk);
    return state();
}

PartialState PartialJson::state() const noexcept { return impl_->scanner.state(); }

bool PartialJson::hasValue() const noexcept {
    return state() == PartialState::successful_parse || state() == PartialState::repaired_parse;
}

const json::value& PartialJson::value() const noexcept { return hasValue() ? impl_->scanner.tree().root() : noValue(); }

const json::value& PartialJson::lastValue() const noexcept {
    const detail::PartialTree& tree = impl_->scanner.tree();
    return tree.hasRefusedKey() ? noValue() : tree.root();
}

bool PartialJson::isOpen(const json::value& part) const noexcept { return impl_->scanner.isOpen(part); }

std::size_t PartialJson::bytes() const noexcept { return impl_->scanner.bytes(); }

void PartialJson::clear() { *this = PartialJson(impl_->scanner.options()); }

}  // namespace stategraph
