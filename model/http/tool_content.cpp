#include "model/http/tool_content.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "model/http/file_text.hpp"

namespace stategraph::model::http {

bool hasToolContent(const Message& message) {
    return std::ranges::any_of(message.content, [](const Part& part) {
        return std::holds_alternative<Text>(part) || std::holds_alternative<File>(part);
    });
}

std::string toolText(const Message& message) {
    if (!hasToolContent(message)) return validUtf8(message.result->text());
    std::string all;
    const auto add = [&](std::string_view text) { all.append(all.empty() ? "" : "\n").append(text); };
    for (const Part& part : message.content) {
        if (const auto* const text = std::get_if<Text>(&part)) add(text->text);
        const auto* const file = std::get_if<File>(&part);
        if (file == nullptr) continue;
        try {
            const std::optional<std::string> text = fileText(*file);
            add(text ? *text : "[" + file->media_type + "]");
        } catch (const ModelError&) {  // the data are not base64
            add(fileNote(*file));
        }
    }
    return validUtf8(all);
}

std::string fileNote(const File& file) { return validUtf8("[" + file.media_type + ", which cannot be shown here]"); }

}  // namespace stategraph::model::http
