#include <stategraph/graph_description.hpp>

#include <algorithm>
#include <charconv>

#include <stategraph/error.hpp>

#include "src/graph/core.hpp"
#include "src/graph/join_names.hpp"
#include "src/graph/policies.hpp"

namespace stategraph {
namespace {

GraphFingerprint fingerprintOf(const detail::Core& core) noexcept {
    return {core.topology().fingerprint, core.schema().fingerprint()};
}

DescribedNode describeNode(const detail::NodeSpec& node) {
    DescribedNode described{.name = node.name,
                            .stored_as = node.stored_as == node.name ? std::string() : node.stored_as,
                            .deferred = node.defer,
                            .subgraph = {},
                            .metadata = node.metadata};
    if (node.subgraph) described.subgraph = fingerprintOf(*node.subgraph->core);
    return described;
}

DescribedChannel channelAsData(const detail::Schema& schema, const detail::ChannelSpec& channel) {
    DescribedChannel described{.name = channel.name,
                               .kind = kindName(channel.kind),
                               .reducer = channel.reducer,
                               .initial = {},
                               .holds = channel.behaviour->holds,
                               .former_names = channel.former_names};
    if (!schema.present().test(channel.index) || channel.initial == nullptr) return described;
    std::string cbor;
    Encoder out(cbor);
    try {
        channel.behaviour->encode(channel, channel.initial, out);
        described.initial = Value::fromCbor(std::move(cbor));
    } catch (const Error&) {
        // This initial value cannot be stored, so the channel can be stored only after it was written.
    }
    return described;
}

DescribedBranch describeBranch(const detail::BranchSpec& branch) {
    DescribedBranch described{.from = branch.from, .ends = {}};
    if (!branch.ends) return described;
    described.ends.emplace();
    for (const auto& [label, to] : *branch.ends) described.ends->push_back({label, to});
    return described;
}

std::string hexOf(std::uint64_t number) {
    std::string digits(16, '0');
    for (std::size_t i = 16; i-- > 0; number >>= 4U) digits[i] = "0123456789abcdef"[number & 15U];
    return digits;
}

bool readHex(std::string_view digits, std::uint64_t& number) noexcept {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
    return digits.size() == 16 && error == std::errc() && end == digits.data() + digits.size();
}

}  // namespace

void Codec<GraphFingerprint>::encode(Encoder& encoder, const GraphFingerprint& fingerprint) {
    encoder.text(hexOf(fingerprint.graph) + '-' + hexOf(fingerprint.schema));
}

void Codec<GraphFingerprint>::decode(Decoder& decoder, GraphFingerprint& fingerprint) {
    const std::string_view text = decoder.text();
    if (text.size() != 33 || text[16] != '-' || !readHex(text.substr(0, 16), fingerprint.graph) ||
        !readHex(text.substr(17), fingerprint.schema)) {
        throw WrongTypeError("expected a graph's fingerprint: twice 16 hexadecimal digits with '-' between them");
    }
}

const DescribedNode* GraphDescription::find(std::string_view name) const noexcept {
    const auto found = std::ranges::find(nodes, name, &DescribedNode::name);
    return found == nodes.end() ? nullptr : &*found;
}

const DescribedNode* GraphDescription::findStored(std::string_view name) const noexcept {
    const auto found = std::ranges::find_if(nodes, [&](const DescribedNode& node) {
        return (node.stored_as.empty() ? node.name : node.stored_as) == name;
    });
    return found == nodes.end() ? nullptr : &*found;
}

const DescribedChannel* GraphDescription::findChannel(std::string_view name) const noexcept {
    const auto current = std::ranges::find(channels, name, &DescribedChannel::name);
    if (current != channels.end()) return &*current;
    const auto former = std::ranges::find_if(channels, [&](const DescribedChannel& channel) {
        return std::ranges::find(channel.former_names, name) != channel.former_names.end();
    });
    return former == channels.end() ? nullptr : &*former;
}

std::string GraphDescription::shownName(std::string_view stored) const {
    const DescribedNode* const node = findStored(stored);
    return node == nullptr ? std::string(stored) : node->name;
}

namespace detail {

GraphDescription describeGraph(const Core& core) {
    const GraphSpec& spec = core.spec();
    GraphDescription description;
    description.fingerprint = fingerprintOf(core);
    for (const NodeSpec& node : spec.nodes) {
        description.nodes.push_back(describeNode(node));
        if (node.ends.isGiven()) description.gotos.push_back({node.name, node.ends.names(), false});
        const HandlerSpec* const handler = engine::handlerOf(node, spec);
        if (handler != nullptr && handler->ends) description.gotos.push_back({node.name, *handler->ends, true});
    }
    for (const EdgeSpec& edge : spec.edges) {
        if (!engine::isJoin(edge)) {
            description.edges.push_back({edge.from.front(), edge.to});
            continue;
        }
        DescribedJoin join{.from = {}, .to = edge.to};
        for (const auto source : engine::distinctSources(edge)) join.from.emplace_back(source);
        description.joins.push_back(std::move(join));
    }
    for (const BranchSpec& branch : spec.branches) description.branches.push_back(describeBranch(branch));
    for (const ChannelSpec& channel : core.schema().channels())
        description.channels.push_back(channelAsData(core.schema(), channel));
    return description;
}

namespace {

void addGraphs(const Core& core, std::vector<GraphDescription>& graphs) {
    const GraphFingerprint fingerprint = fingerprintOf(core);
    if (std::ranges::find(graphs, fingerprint, &GraphDescription::fingerprint) != graphs.end()) return;
    graphs.push_back(describeGraph(core));
    for (const NodeSpec& node : core.spec().nodes) {
        if (node.subgraph) addGraphs(*node.subgraph->core, graphs);
    }
}

}  // namespace

std::vector<GraphDescription> describeGraphs(const Core& core) {
    std::vector<GraphDescription> graphs;
    addGraphs(core, graphs);
    return graphs;
}

}  // namespace detail
}  // namespace stategraph
