#pragma once
#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <stategraph/record.hpp>
#include <stategraph/saver.hpp>

// Everything that a saver contains as text, with a line for each row: table, thread, namespace, checkpoint id, path,
// bytes in hexadecimal, separated by tabs.
namespace golden {
namespace sg = stategraph;

inline std::string hexOf(std::string_view bytes) {
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (const char each : bytes) {
        text += digits[static_cast<unsigned char>(each) >> 4U];
        text += digits[static_cast<unsigned char>(each) & 15U];
    }
    return text;
}

inline std::string bytesOf(std::string_view hex) {
    const auto digit = [](char c) -> unsigned {
        if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
        if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
        throw std::runtime_error("not a hexadecimal digit");
    };
    if (hex.size() % 2 != 0) throw std::runtime_error("half a byte");
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(digit(hex[i]) << 4U | digit(hex[i + 1]));
    return bytes;
}

/// Returns the rows, with the oldest first within each log.
inline std::string rowsOf(sg::BaseCheckpointSaver& saver) {
    auto listed = saver.list({.with_writes = true});
    std::map<std::string, std::string> lines;
    for (const auto& row : listed) {
        const std::string log = row.thread_id + '\t' + row.checkpoint_ns + '\t' + row.id.toString() + '\t';
        std::string& text = lines[log];
        text = "commit\t" + log + '\t' + hexOf(row.bytes) + '\n';
        for (const auto& write : row.writes) text += "write\t" + log + write.path + '\t' + hexOf(write.bytes) + '\n';
    }
    std::string text;
    for (const auto& [key, line] : lines) text += line;
    return text;
}

/// Stores such rows.
inline void load(std::string_view rows, sg::BaseCheckpointSaver& saver) {
    std::map<std::string, sg::CheckpointId> heads;
    while (!rows.empty()) {
        std::string_view line = rows.substr(0, rows.find('\n'));
        rows.remove_prefix(std::min(rows.size(), line.size() + 1));
        std::vector<std::string> parts;
        for (std::size_t at = 0; at <= line.size();) {
            const std::size_t end = std::min(line.find('\t', at), line.size());
            parts.emplace_back(line.substr(at, end - at));
            at = end + 1;
        }
        if (parts.size() != 6) throw std::runtime_error("a row needs six columns");
        const sg::LogName log{parts[1], parts[2]};
        const sg::CheckpointId id(parts[3]);
        const std::string bytes = bytesOf(parts[5]);
        sg::CheckpointId& head = heads[parts[1] + '\t' + parts[2]];
        if (parts[0] == "commit") {
            const sg::CommitHeader header = sg::readHeader({parts[1], parts[2], id}, bytes);
            const sg::CommitRow row{.id = id, .parent = header.parent, .base = header.base, .bytes = bytes};
            saver.put({.log = log, .expected_head = head, .commits = {&row, 1}, .writes = {}});
            head = id;
        } else {
            const sg::WriteRow row{.checkpoint_id = id, .path = parts[4], .bytes = bytes};
            saver.putWrites(log, head, {&row, 1});
        }
    }
}

}  // namespace golden
