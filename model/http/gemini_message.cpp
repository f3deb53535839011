#include "model/http/gemini_message.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model/http/file_text.hpp"
#include "model/http/gemini_parts.hpp"
#include "model/http/json_access.hpp"
#include "model/http/text.hpp"
#include "model/http/tool_content.hpp"

namespace stategraph::model::http {

namespace json = boost::json;

namespace {

// What Google documents for calls that come from elsewhere, which a model of the third generation would refuse without
// a signature.
constexpr std::string_view foreign_signature = "skip_thought_signature_validator";

json::object geminiFile(const File& file) {
    if (const auto text = fileText(file)) return geminiText(*text);
    const bool is_exact = !file.media_type.empty() && file.media_type.find('*') == std::string::npos;
    if (file.data.empty()) {
        json::object address{{"fileUri", file.url}};
        if (is_exact) address["mimeType"] = file.media_type;
        return {{"fileData", std::move(address)}};
    }
    const std::string_view type = is_exact ? std::string_view(file.media_type) : "image/jpeg";
    return {{"inlineData", {{"mimeType", type}, {"data", file.data}}}};
}

void sign(json::object& part, std::string_view signature) {
    if (!signature.empty()) part["thoughtSignature"] = signature;
}

/// Puts the parts of one answer together.
class ModelParts {
public:
    ModelParts(const Message& message, std::size_t at, const GeminiSending& sending, PartOptions& options)
        : message_(message), at_(at), sending_(sending), options_(options), text_(message.text()) {
        for (const Part& part : message.content) {
            if (const auto* const thought = std::get_if<Reasoning>(&part)) thoughts_ += thought->text;
        }
    }

    json::array take() {
        const std::optional<json::array> kept = keptParts(message_, sending_.host);
        if (kept && fits(*kept)) {
            takeMessageOptions();
            for (const json::value& each : *kept) addKept(each.as_object());
        } else {
            for (const Part& part : message_.content) addUnsigned(part);
        }
        while (call_ < message_.calls.size()) addCall({});
        return std::move(parts_);
    }

private:
    /// Returns whether what was kept is about this message as it is now.
    bool fits(const json::array& kept) const {
        std::size_t text = 0;
        std::size_t calls = 0;
        std::size_t others = 0;
        for (const json::value& each : kept) {
            const json::object* const part = each.if_object();
            if (part == nullptr) return false;
            const std::string_view kind = textOf(*part, "kind");
            const std::int64_t size = integerOf(*part, "size").value_or(0);
            if (size < 0) return false;
            if (kind == "text") text += static_cast<std::size_t>(size);
            calls += kind == "call" ? 1 : 0;
            others += kind == "file" || kind == "own" ? 1 : 0;
            if (text < text_.size() && (static_cast<unsigned char>(text_[text]) & 0xC0U) == 0x80U) return false;
        }
        std::size_t present = 0;
        for (const Part& part : message_.content) present += isOther(part) ? 1 : 0;
        return text == text_.size() && calls == message_.calls.size() && others == present;
    }
    static bool isOther(const Part& part) {
        const auto* const own = std::get_if<ProviderPart>(&part);
        return std::holds_alternative<File>(part) ||
               (own != nullptr && own->format == gemini_format &&
                (own->kind == ProviderPartKind::call || own->kind == ProviderPartKind::result));
    }

    void takeMessageOptions() {
        for (const Part& part : message_.content) {
            if (!std::holds_alternative<ProviderPart>(part)) return;
            options_.take(part, parts_);
        }
    }

    void addKept(const json::object& kept) {
        const std::string_view kind = textOf(kept, "kind");
        const std::string_view signature = textOf(kept, "signature");
        if (kind == "text") {
            const auto size = static_cast<std::size_t>(integerOf(kept, "size").value_or(0));
            json::object part = geminiText(std::string_view(text_).substr(text_at_, size));
            text_at_ += size;
            sign(part, signature);
            if (size > 0 || !signature.empty()) parts_.push_back(std::move(part));
        } else if (kind == "thought") {
            addThought(static_cast<std::size_t>(integerOf(kept, "size").value_or(0)), signature);
        } else if (kind == "call") {
            addCall(signature);
        } else {
            addOther(signature);
        }
    }

    /// A thought is needed again only if it is signed.
    void addThought(std::size_t size, std::string_view signature) {
        const std::string_view thought =
            std::string_view(thoughts_).substr(std::min(thought_at_, thoughts_.size()), size);
        thought_at_ += size;
        if (signature.empty()) return;
        json::object part = geminiText(thought);
        part["thought"] = true;
        sign(part, signature);
        parts_.push_back(std::move(part));
    }

    /// Adds the next file, or the next part of a tool that the provider executes.
    void addOther(std::string_view signature) {
        while (other_ < message_.content.size() && !isOther(message_.content[other_])) ++other_;
        if (other_ == message_.content.size()) return;
        const Part& part = message_.content[other_++];
        const std::size_t before = parts_.size();
        addUnsigned(part);
        if (parts_.size() > before) sign(parts_.back().as_object(), signature);
    }

    void addUnsigned(const Part& part) {
        if (const auto* const text = std::get_if<Text>(&part); text != nullptr && !text->text.empty())
            parts_.push_back(geminiText(text->text));
        if (const auto* const file = std::get_if<File>(&part)) parts_.push_back(geminiFile(*file));
        if (const auto* const own = std::get_if<ProviderPart>(&part)) {
            if (const json::object* const block = sending_.own.of(*own)) parts_.push_back(*block);
        }
        options_.take(part, parts_);
    }

    void addCall(std::string_view signature) {
        const ToolCall& call = message_.calls[call_];
        json::object function{{"name", validUtf8(call.name)},
                              {"args", parseObject(wireArguments(call), "the arguments of a call")}};
        if (!call.provider_id.empty()) function["id"] = sending_.ids.ofCall(at_, call_);
        json::object part{{"functionCall", std::move(function)}};
        is_signed_ = is_signed_ || !signature.empty();
        // Of parallel calls only the first is signed.
        if (call_ == 0 && !is_signed_ && sending_.is_gemini_3) signature = foreign_signature;
        sign(part, signature);
        parts_.push_back(std::move(part));
        ++call_;
    }

    const Message& message_;
    const std::size_t at_;
    const GeminiSending& sending_;
    PartOptions& options_;
    const std::string text_;
    std::string thoughts_;
    std::size_t text_at_ = 0;
    std::size_t thought_at_ = 0;
    std::size_t call_ = 0;    // the next one
    std::size_t other_ = 0;   // the next one among the content
    bool is_signed_ = false;  // whether a call has a signature
    json::array parts_;
};

/// Returns whether a function's response may have the file: some pictures, and PDFs, as data.
bool mayBeInResponse(const json::object& part) {
    const json::object* const data = objectOf(part, "inlineData");
    if (data == nullptr) return false;
    const std::string_view type = textOf(*data, "mimeType");
    return type == "image/png" || type == "image/jpeg" || type == "image/webp" || type == "application/pdf";
}

/// Returns whether the server refuses the file: pictures of types that the models do not see.
bool isRefused(const File& file) noexcept {
    const std::string_view type = file.media_type;
    if (file.data.empty() || !type.starts_with("image/") || type == "image/*") return false;
    return type != "image/png" && type != "image/jpeg" && type != "image/webp" && type != "image/heic" &&
           type != "image/heif";
}

/// A file of a tool's result; a text in place of one that the server would refuse in each further request.
json::object geminiResultFile(const File& file) {
    return isRefused(file) ? json::object{{"note", fileNote(file)}} : geminiFile(file);
}

/// Returns the result in the form that the model reads: its value, or what failed.
json::object responseOf(const Message& message) {
    const ToolResult& result = *message.result;
    const char* const name = result.is_error ? "error" : "output";
    if (!hasToolContent(message) && !result.is_error) {
        if (auto value = parseJsonText(result.output.toJson())) return {{name, std::move(*value)}};
    }
    return {{name, toolText(message)}};
}

}  // namespace

bool isGemini3(std::string_view model) noexcept {
    constexpr std::string_view family = "gemini-";
    const std::size_t at = model.rfind('/') == std::string_view::npos ? 0 : model.rfind('/') + 1;
    std::string_view name = model.substr(at);
    if (!name.starts_with(family)) return false;
    name.remove_prefix(family.size());
    return !name.starts_with("1") && !name.starts_with("2") && !name.starts_with("pro-vision") && name != "pro";
}

json::object geminiText(std::string_view text) { return {{"text", validUtf8(text)}}; }

json::array geminiUserParts(const Message& message, PartOptions& options) {
    json::array parts;
    for (const Part& part : message.content) {
        if (const auto* const text = std::get_if<Text>(&part); text != nullptr && !text->text.empty())
            parts.push_back(geminiText(text->text));
        if (const auto* const file = std::get_if<File>(&part)) parts.push_back(geminiFile(*file));
        options.take(part, parts);
    }
    return parts;
}

json::array geminiModelParts(const Message& message, std::size_t at, const GeminiSending& sending,
                             PartOptions& options) {
    return ModelParts(message, at, sending, options).take();
}

json::array geminiResultParts(const Message& message, std::size_t at, const GeminiSending& sending,
                              PartOptions& options) {
    const std::string& id = answeredCall(sending.ids, message, at);
    json::array inside;
    json::array after;
    for (json::value& part : toolContent(message, options, geminiText, geminiResultFile)) {
        if (part.as_object().contains("text")) continue;
        if (const std::string_view note = textOf(part.as_object(), "note"); !note.empty()) {
            after.push_back(geminiText(note));
            continue;
        }
        const bool is_inside = sending.is_gemini_3 && mayBeInResponse(part.as_object());
        (is_inside ? inside : after).push_back(std::move(part));
    }
    json::object response{{"name", validUtf8(message.result->name)}, {"response", responseOf(message)}};
    if (sending.ids.isOfProvider(at)) response["id"] = id;
    if (!inside.empty()) response["parts"] = std::move(inside);
    json::array parts{json::object{{"functionResponse", std::move(response)}}};
    for (json::value& file : after) parts.push_back(std::move(file));
    return parts;
}

}  // namespace stategraph::model::http
