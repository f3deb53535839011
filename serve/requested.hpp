#pragma once
#include <stategraph/serve/handler.hpp>

#include "serve/http.hpp"

namespace stategraph::serve {

/// The view of a request for hooks and handlers. The request must outlive it.
class Requested final : public RequestView {
public:
    explicit Requested(const Request& request) : request_(request) {}
    std::string_view method() const override { return request_.method_string(); }
    std::string_view target() const override { return request_.target(); }
    std::string_view header(std::string_view name) const override { return request_[name]; }

private:
    const Request& request_;
};

}  // namespace stategraph::serve
