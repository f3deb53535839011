#include "src/checkpoint/thread_summary.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>
#include <stategraph/saver.hpp>

namespace stategraph {
namespace {

// Heads of arrays and maps, and the number.
constexpr std::size_t heads_bytes_max = 16;
static_assert(ThreadSummary::metadata_bytes_max + ThreadSummary::questions_bytes_max + heads_bytes_max <=
              PutRequest::summary_bytes_max);

constexpr std::uint64_t lacks_metadata = 1;
constexpr std::uint64_t lacks_questions = 2;

// The entries that fit, as pairs of encoded key and value.
std::vector<std::string_view> entriesThatFit(std::string_view metadata, bool& has_all) {
    std::vector<std::string_view> entries;
    std::size_t bytes = 0;
    Decoder in(metadata);
    for (std::size_t left = in.map(); left > 0; --left) {
        const std::string_view key = in.raw();
        const std::string_view value = in.raw();
        const std::string_view entry(key.data(), key.size() + value.size());  // they are neighbours
        if (bytes + entry.size() > ThreadSummary::metadata_bytes_max) {
            has_all = false;
            continue;
        }
        bytes += entry.size();
        entries.push_back(entry);
    }
    return entries;
}

}  // namespace

std::string checkpoint::writeSummary(std::string_view metadata, std::span<const std::string_view> questions) {
    bool has_all_metadata = true;
    std::vector<std::string_view> entries;
    if (!metadata.empty()) entries = entriesThatFit(metadata, has_all_metadata);
    std::size_t fitting = 0;
    for (std::size_t bytes = 0; fitting < questions.size(); ++fitting) {
        bytes += questions[fitting].size();
        if (bytes > ThreadSummary::questions_bytes_max) break;
    }
    const bool has_all_questions = fitting == questions.size();
    const std::uint64_t lacks = (has_all_metadata ? 0 : lacks_metadata) | (has_all_questions ? 0 : lacks_questions);
    const std::size_t parts = lacks != 0 ? 3 : fitting > 0 ? 2 : entries.empty() ? 0 : 1;
    std::string out;
    Encoder e(out);
    e.array(parts);
    if (parts > 0) {
        e.map(entries.size());
        for (const std::string_view entry : entries) e.raw(entry);
    }
    if (parts > 1) {
        e.array(fitting);
        for (const std::string_view question : questions.first(fitting)) e.raw(question);
    }
    if (parts > 2) e.unsignedInteger(lacks);
    return out;
}

std::optional<ThreadSummary> readThreadSummary(std::string_view bytes) {
    if (bytes.empty()) return {};
    try {
        ThreadSummary summary;
        Decoder in(bytes);
        const std::size_t parts = in.array();
        if (parts > 3) return {};
        if (parts > 0) {
            for (std::size_t left = in.map(); left > 0; --left) {
                std::string key(in.text());
                summary.metadata.push_back({std::move(key), Value::fromCbor(std::string(in.raw()))});
            }
        }
        if (parts > 1) {
            for (std::size_t left = in.array(); left > 0; --left)
                summary.questions.push_back(Value::fromCbor(std::string(in.raw())));
        }
        if (parts > 2) {
            const std::uint64_t lacks = in.unsignedInteger();
            summary.has_all_metadata = (lacks & lacks_metadata) == 0;
            summary.has_all_questions = (lacks & lacks_questions) == 0;
        }
        if (!in.atEnd()) return {};
        return summary;
    } catch (const WrongTypeError&) {
        return {};
    }
}

std::optional<bool> ThreadSummary::hasMetadata(const Metadata& filter) const {
    bool knows_all = true;
    for (const MetadataEntry& wanted : filter) {
        const auto found = std::ranges::find(metadata, wanted.key, &MetadataEntry::key);
        if (found == metadata.end()) {
            if (has_all_metadata) return false;
            knows_all = false;
        } else if (!(found->value == wanted.value)) {
            return false;
        }
    }
    return knows_all ? std::optional(true) : std::nullopt;
}

}  // namespace stategraph
