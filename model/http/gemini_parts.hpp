#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include <stategraph/model/message.hpp>

// The parts of an answer in Gemini's format, in their order, with the signatures that the server requires again.
namespace stategraph::model::http {

/// The ProviderPart::format of this format's parts.
inline constexpr std::string_view gemini_format = "gemini";

/// Collects the parts of one answer: what each adds to the message, and its signature.
class GeminiParts {
public:
    void addText(std::size_t size, std::string_view signature) { add("text", size, signature); }
    void addThought(std::size_t size, std::string_view signature) { add("thought", size, signature); }
    /// A call, a file, or a part of a tool that the provider executes.
    void addCall(std::string_view signature) { add("call", 1, signature); }
    void addFile(std::string_view signature) { add("file", 1, signature); }
    void addOwn(std::string_view signature) { add("own", 1, signature); }
    /// Returns the parts as metadata of the answer; none if the server signed none.
    std::optional<ProviderPart> part(std::string_view host) const;

private:
    void add(std::string_view kind, std::size_t size, std::string_view signature);

    boost::json::array parts_;
    bool is_signed_ = false;
};

/// Returns what GeminiParts::part made for this message, or none if it has nothing from this host.
std::optional<boost::json::array> keptParts(const Message& message, std::string_view host);

}  // namespace stategraph::model::http
