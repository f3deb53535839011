#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "serve/http.hpp"

// Which pages a browser's request comes from. Programs send none of these header fields.
namespace stategraph::serve {

/// Whether a text is an origin as browsers write it, or "*".
bool isOrigin(std::string_view text);
/// Whether a page of another origin than the server's own and the allowed ones sends the request.
bool isForeign(const Request& request, const std::vector<std::string>& allowed);
/// Lets the page that sends the request read the answer, if its origin is one of the allowed ones.
void allowOrigin(const Request& request, const std::vector<std::string>& allowed, http::fields& answer);
/// Whether a request to an operation has a body of another type than JSON, such as a form, or of none.
bool hasForeignBody(const Request& request);

}  // namespace stategraph::serve
