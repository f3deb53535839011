#include "model/http/file_text.hpp"

#include <algorithm>

#include <stategraph/model/model.hpp>

#include "model/http/text.hpp"

namespace stategraph::model::http {

std::optional<std::string> fileText(const File& file) {
    if (!file.media_type.starts_with("text/") || file.data.empty()) return {};
    const std::optional<std::string> text = fromBase64(file.data);
    if (!text) throw ModelError("the data of the file of type " + file.media_type + " is not base64", {});
    return validUtf8(*text);
}

std::string fileAddress(const File& file) {
    return file.data.empty() ? file.url : "data:" + file.media_type + ";base64," + file.data;
}

std::string fileName(const File& file) {
    const std::string& type = file.media_type;
    return "file." + type.substr(std::min(type.find('/') + 1, type.size()));
}

}  // namespace stategraph::model::http
