#pragma once
#include <cstddef>
#include <string_view>

#include <boost/json.hpp>

#include <stategraph/model/model.hpp>

#include "model/http/element_options.hpp"
#include "model/http/provider_tools.hpp"
#include "model/http/wire_calls.hpp"

// One message as parts of Gemini's format.
namespace stategraph::model::http {

/// What is the same for all messages of a request.
struct GeminiSending {
    const WireIds& ids;
    const ProviderBlocks& own;
    std::string_view host;
    bool is_gemini_3 = false;
};

/// Returns whether a model is of the third generation or a later one, by its name.
bool isGemini3(std::string_view model) noexcept;

boost::json::object geminiText(std::string_view text);
/// The parts of a message of the user.
boost::json::array geminiUserParts(const Message& message, PartOptions& options);
/// The parts of an answer: those that were kept determine the order and the signatures, and the message itself what is
/// sent, because its texts and calls may have been edited or left out.
boost::json::array geminiModelParts(const Message& message, std::size_t at, const GeminiSending& sending,
                                    PartOptions& options);
/// The parts of a tool's result.
boost::json::array geminiResultParts(const Message& message, std::size_t at, const GeminiSending& sending,
                                     PartOptions& options);

}  // namespace stategraph::model::http
