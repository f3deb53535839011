#pragma once
#include <span>
#include <string_view>

namespace stategraph::inspect {

/// A file of the page, taken from inspect/web/dist (cmake/EmbedPage.cmake makes it a part of the library).
struct PageFile {
    std::string_view path;  // such as "/app.js"
    std::string_view content_type;
    std::string_view text;
};
std::span<const PageFile> pageFiles();

}  // namespace stategraph::inspect
