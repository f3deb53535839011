#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <unordered_map>

#include <stategraph/codec_std.hpp>
#include <stategraph/command.hpp>
#include <stategraph/detail/graph_builder.hpp>
#include <stategraph/detail/utf8.hpp>
#include <stategraph/error.hpp>

#include "src/graph/policies.hpp"
#include "src/value/bytes.hpp"

namespace stategraph::detail {
namespace {

enum class Shape : std::uint8_t { start, end, node, subgraph, unknown };

struct DrawnEdge {
    std::size_t to;
    bool conditional;
    std::string_view label;
};

struct DrawnNode {
    std::string_view name;
    Shape shape;
    std::vector<std::string> details;
    std::vector<DrawnEdge> edges;
};

std::string valueText(const Value& value) {
    std::ostringstream out;
    try {
        out << value.as<std::string>();
    } catch (const WrongTypeError&) {
        out << value;
    }
    return out.str();
}

std::vector<std::string> detailsOf(const NodeSpec& node) {
    std::vector<std::string> details;
    if (node.defer) details.emplace_back("defer = true");
    if (node.metadata.isNull()) return details;
    try {
        for (const auto& [key, value] : node.metadata.as<std::map<std::string, Value>>()) {
            details.push_back(key + " = " + valueText(value));
        }
    } catch (const WrongTypeError&) {
        details.push_back("metadata = " + valueText(node.metadata));
    }
    return details;
}

// Collects what both formats show: the nodes in the order added between __start__ and __end__, and after them the names
// that only edges mention.
class Drawing {
public:
    explicit Drawing(const GraphSpec& graph) {
        add(START, Shape::start);
        for (const auto& node : graph.nodes) {
            nodes_[add(node.name, node.subgraph ? Shape::subgraph : Shape::node)].details = detailsOf(node);
        }
        const std::size_t end = add(END, Shape::end);
        for (const auto& edge : graph.edges) {
            for (const auto& from : edge.from) connect(find(from), find(edge.to), false);
        }
        for (const auto& branch : graph.branches) addBranch(branch, end);
        for (const auto& node : graph.nodes) {
            if (!node.ends.isGiven()) continue;
            for (const auto& to : node.ends.names()) connect(find(node.name), find(to), true);
        }
        for (std::size_t i = 0; i < end; ++i) {
            if (nodes_[i].edges.empty() && nodes_[i].shape != Shape::start) connect(i, end, false);
        }
        for (const auto& node : graph.nodes) {
            const auto* handler = engine::handlerOf(node, graph);
            if (handler == nullptr || !handler->ends) continue;
            for (const auto& to : *handler->ends) connect(find(node.name), find(to), true, "error");
        }
    }

    const std::vector<DrawnNode>& nodes() const noexcept { return nodes_; }

private:
    std::size_t add(std::string_view name, Shape shape) {
        const auto [place, added] = places_.emplace(name, nodes_.size());
        if (added) nodes_.push_back({.name = name, .shape = shape, .details = {}, .edges = {}});
        return place->second;
    }

    std::size_t find(std::string_view name) { return add(name, Shape::unknown); }

    void connect(std::size_t from, std::size_t to, bool conditional, std::string_view label = {}) {
        if (label == nodes_[to].name) label = {};
        if (!drawn_.emplace(from, to, conditional, label).second) return;
        nodes_[from].edges.push_back({.to = to, .conditional = conditional, .label = label});
    }

    void addBranch(const BranchSpec& branch, std::size_t end) {
        const std::size_t from = find(branch.from);
        if (branch.ends) {
            for (const auto& [label, to] : *branch.ends) connect(from, find(to), true, label);
            return;
        }
        // A node without declared targets may lead anywhere. That it may lead to itself is not drawn.
        for (std::size_t to = 1; to <= end; ++to) {
            if (to != from) connect(from, to, true);
        }
    }

    std::vector<DrawnNode> nodes_;
    std::unordered_map<std::string_view, std::size_t> places_;
    std::set<std::tuple<std::size_t, std::size_t, bool, std::string_view>> drawn_;
};

bool isWordChar(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool isControl(char c) noexcept { return static_cast<unsigned char>(c) < 0x20U || c == '\x7f'; }

std::string hexByte(char c) {
    std::string digits;
    appendHex(digits, static_cast<unsigned char>(c));
    return digits;
}

// A drawing is made to be read, so bytes that are not UTF-8 are shown as replacement characters and do not spoil the
// rest.
std::string textOf(std::string_view bytes) {
    if (isUtf8(bytes)) return std::string(bytes);
    std::string out;
    for (const char c : bytes) {
        if (static_cast<unsigned char>(c) < 0x80U) {
            out += c;
        } else {
            out += "\xef\xbf\xbd";  // U+FFFD
        }
    }
    return out;
}

std::string_view leadingWord(std::string_view text) {
    std::size_t size = 0;
    while (size < text.size() && isWordChar(text[size])) ++size;
    return text.substr(0, size);
}

// Returns whether the word has a meaning in Mermaid, so that it would end an id or a label that begins with it.
bool isMermaidWord(std::string_view word) {
    static constexpr std::string_view words[] = {"graph",     "flowchart", "subgraph", "end",      "style",
                                                 "linkStyle", "class",     "classDef", "default",  "href",
                                                 "direction", "click",     "call",     "accTitle", "interpolate",
                                                 "_self",     "_blank",    "_parent",  "accDescr", "_top"};
    return std::ranges::find(words, word) != std::end(words);
}

// Encodes a name as an id: letters, digits, underscores and single inner hyphens stay, and any other byte becomes a
// backslash and two digits.
std::string mermaidId(std::string_view name) {
    if (name.empty()) return "\\empty";
    const bool reserved = isMermaidWord(leadingWord(name));
    std::string out;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const bool hyphen = name[i] == '-' && i > 0 && i + 1 < name.size() && isWordChar(name[i + 1]);
        if ((isWordChar(name[i]) || hyphen) && !(i == 0 && reserved)) {
            out += name[i];
        } else {
            out += '\\' + hexByte(name[i]);
        }
    }
    return out;
}

std::string mermaidText(std::string_view bytes) {
    std::string out;
    for (const char c : textOf(bytes)) {
        if (c == '\n') {
            out += "<br/>";
        } else if (isControl(c)) {
            out += ' ';
        } else if (std::string_view("\"#<>&`\\").find(c) != std::string_view::npos) {
            out += '#' + std::to_string(static_cast<unsigned char>(c)) + ';';
        } else {
            out += c;
        }
    }
    return out;
}

bool isPlain(std::string_view text) { return !text.empty() && leadingWord(text) == text && !isMermaidWord(text); }

std::string mermaidNode(const DrawnNode& node) {
    const std::string id = mermaidId(node.name);
    if (node.shape == Shape::start) return id + "([<p>__start__</p>]):::first";
    if (node.shape == Shape::end) return id + "([<p>__end__</p>]):::last";
    std::string label(node.name);
    if (!isPlain(node.name) || !node.details.empty()) {
        // An empty label would not parse.
        label = '"' + (node.name.empty() ? " " : mermaidText(node.name));
        const char* separator = "<hr/>";
        for (const auto& detail : node.details) {
            label += separator + ("<small><em>" + mermaidText(detail)) + "</em></small>";
            separator = "<br/>";
        }
        label += '"';
    }
    if (node.shape == Shape::subgraph) return id + "[[" + label + "]]";
    return id + '(' + label + ')' + (node.shape == Shape::unknown ? ":::unknown" : "");
}

std::string mermaidArrow(const DrawnEdge& edge) {
    if (edge.label.empty()) return edge.conditional ? " -.-> " : " --> ";
    const std::string text = "&nbsp;" + mermaidText(edge.label) + "&nbsp;";
    return isPlain(edge.label) ? " -. " + text + " .-> " : " -. \"" + text + "\" .-> ";
}

// A backslash is doubled. Line ends and other control characters become escapes, of the shown text or of the id.
std::string dotText(std::string_view bytes, bool shown) {
    const std::string text = shown ? textOf(bytes) : std::string(bytes);
    const bool utf8 = isUtf8(text);
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"') {
            out += "\\\"";
        } else if (c == '\\') {
            out += "\\\\";
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '&' && shown) {
            out += "&amp;";
        } else if (isControl(c) || (!utf8 && static_cast<unsigned char>(c) >= 0x80U)) {
            out += shown ? " " : "\\x" + hexByte(c);
        } else {
            out += c;
        }
    }
    return out + '"';
}

std::string dotNode(const DrawnNode& node) {
    const std::string id = dotText(node.name, false);
    std::string text = textOf(node.name);
    for (const auto& detail : node.details) text += '\n' + detail;
    std::string out = id + " [shape=";
    out += node.shape == Shape::start || node.shape == Shape::end ? "oval" : "box";
    if (node.shape == Shape::subgraph) out += ", peripheries=2";
    if (node.shape == Shape::unknown) out += ", style=dashed";
    // The id serves as the label too, unless escapes in it would show.
    const std::string label = dotText(text, true);
    if (label != id || id.find('\\') != std::string::npos) out += ", label=" + label;
    return out + "];";
}

}  // namespace

std::string toMermaid(const GraphSpec& graph) {
    const Drawing drawing(graph);
    std::string out = "graph TD;\n";
    bool has_unknown = false;
    for (const auto& node : drawing.nodes()) {
        out += '\t' + mermaidNode(node) + '\n';
        has_unknown = has_unknown || node.shape == Shape::unknown;
    }
    for (const auto& node : drawing.nodes()) {
        for (const auto& edge : node.edges) {
            out += '\t' + mermaidId(node.name) + mermaidArrow(edge) + mermaidId(drawing.nodes()[edge.to].name) + ";\n";
        }
    }
    out +=
        "\tclassDef default fill:#f2f0ff,line-height:1.2\n"
        "\tclassDef first fill-opacity:0\n"
        "\tclassDef last fill:#bfb6fc\n";
    if (has_unknown) out += "\tclassDef unknown stroke-dasharray:4\n";
    return out;
}

std::string toDot(const GraphSpec& graph) {
    const Drawing drawing(graph);
    std::string out = "digraph {\n";
    for (const auto& node : drawing.nodes()) out += "    " + dotNode(node) + '\n';
    for (const auto& node : drawing.nodes()) {
        for (const auto& edge : node.edges) {
            out += "    " + dotText(node.name, false) + " -> " + dotText(drawing.nodes()[edge.to].name, false);
            if (edge.conditional) out += " [style=dashed";
            if (!edge.label.empty()) out += ", label=" + dotText(edge.label, true);
            out += edge.conditional ? "];\n" : ";\n";
        }
    }
    return out + "}\n";
}

}  // namespace stategraph::detail
