#pragma once
#include <optional>
#include <string>

#include <stategraph/model/message.hpp>

namespace stategraph::model::http {

/// Returns the content of a file that is a text and whose data is given, as valid UTF-8; none for any other file. The
/// formats of providers have texts as texts, and accept few documents. Errors: ModelError if the data is not base64.
std::optional<std::string> fileText(const File& file);
/// Returns the file's address, or a `data:` address that contains its data.
std::string fileAddress(const File& file);
/// Returns a name for a file, which providers require, such as "file.pdf".
std::string fileName(const File& file);

}  // namespace stategraph::model::http
