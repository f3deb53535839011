#pragma once
#include <functional>
#include <string_view>

#include <stategraph/serve/admission.hpp>

#include "serve/asked.hpp"

namespace stategraph::serve {

/// The view of a request for hooks and handlers. What it is made of must outlive it.
class Requested final : public RequestView {
public:
    Requested(const Request& request, const Asked& asked) : request_(request), asked_(asked) {}
    std::string_view method() const override { return request_.method_string(); }
    std::string_view target() const override { return request_.target(); }
    std::string_view header(std::string_view name) const override { return request_[name]; }
    void forEachHeader(const std::function<void(std::string_view, std::string_view)>& take) const override {
        for (const auto& field : request_) take(field.name_string(), field.value());
    }
    std::string_view path() const override { return asked_.route.path; }
    std::string_view operation() const override { return asked_.operation; }
    std::string_view endpoint() const override {
        return asked_.handler ? asked_.route.segments.front() : asked_.route.name;
    }
    std::string_view thread() const override { return asked_.thread(); }
    std::string_view remote() const override { return asked_.remote; }

private:
    const Request& request_;
    const Asked& asked_;
};

}  // namespace stategraph::serve
