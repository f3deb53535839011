#pragma once
#include <span>
#include <string_view>

namespace stategraph::inspect {

/// A file of the page, as inspect/web/dist has it (made part of the library by cmake/EmbedPage.cmake).
struct PageFile {
    std::string_view path;  // "/app.js"
    std::string_view content_type;
    std::string_view text;
};
std::span<const PageFile> pageFiles();

}  // namespace stategraph::inspect
