#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <boost/json.hpp>

#include <stategraph/model/model.hpp>

#include "model/http/element_options.hpp"
#include "model/http/text.hpp"

// What a model receives of a tool's result.
namespace stategraph::model::http {

/// Returns whether the model receives the message's content, and not the output of its result.
bool hasToolContent(const Message& message);
/// Returns what the model receives as a text, with a line for each file.
std::string toolText(const Message& message);
/// Returns the line that stands for a file which this format does not have in a tool's result.
std::string fileNote(const File& file);

/// Returns the message's content as elements of a format: `textElement` makes one of a text, and `fileElement` one of a
/// file, or throws ModelError if the format has no such files. A text names such a file, so that a result that a
/// program made does not fail each further request.
template <class TextElement, class FileElement>
boost::json::array toolContent(const Message& message, PartOptions& options, const TextElement& textElement,
                               const FileElement& fileElement) {
    boost::json::array list;
    for (const Part& part : message.content) {
        if (const auto* const text = std::get_if<Text>(&part)) list.push_back(textElement(validUtf8(text->text)));
        if (const auto* const file = std::get_if<File>(&part)) {
            try {
                list.push_back(fileElement(*file));
            } catch (const ModelError&) {
                list.push_back(textElement(fileNote(*file)));
            }
        }
        options.take(part, list);
    }
    return list;
}

}  // namespace stategraph::model::http
