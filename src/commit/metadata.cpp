#include "src/commit/metadata.hpp"

#include <algorithm>

#include <stategraph/detail/table.hpp>
#include <stategraph/encoding.hpp>
#include <stategraph/error.hpp>

namespace stategraph::engine {

bool hasMetadata(std::string_view stored, const Metadata& filter) {
    if (filter.empty()) return true;
    std::size_t found = 0;
    if (!stored.empty()) {
        Decoder in(stored);
        for (std::size_t count = in.map(); count > 0; --count) {
            const std::string_view key = in.text();
            const std::string_view value = in.raw();
            found += std::ranges::any_of(
                filter, [&](const MetadataEntry& entry) { return entry.key == key && entry.value.bytes() == value; });
        }
    }
    return found == filter.size();
}

std::string encodeMetadata(const Metadata& metadata) {
    if (metadata.empty()) return {};
    Metadata sorted = metadata;
    std::sort(sorted.begin(), sorted.end(),
              [](const MetadataEntry& a, const MetadataEntry& b) { return detail::storedBefore(a.key, b.key); });
    std::string cbor;
    Encoder out(cbor);
    out.map(sorted.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const std::string& key = sorted[i].key;
        if (key.empty() || key == "source" || key == "step" || key == "parents") {
            throw InvalidArgumentError("metadata cannot have the key '" + key + "': it is empty or taken");
        }
        if (i > 0 && sorted[i - 1].key == key) throw InvalidArgumentError("metadata has the key '" + key + "' twice");
        out.text(key);
        out.raw(sorted[i].value.bytes());
    }
    return cbor;
}

std::string addMetadata(std::string_view stored, const Metadata& added) {
    if (added.empty()) return std::string(stored);
    Metadata all = added;
    if (!stored.empty()) {
        Decoder in(stored);
        for (std::size_t count = in.map(); count > 0; --count) {
            std::string key(in.text());
            const std::string_view value = in.raw();
            if (std::ranges::find(added, key, &MetadataEntry::key) != added.end()) continue;
            all.push_back({std::move(key), Value::fromCbor(std::string(value))});
        }
    }
    return encodeMetadata(all);
}

}  // namespace stategraph::engine
