#pragma once
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <stategraph/codec_std.hpp>
#include <stategraph/update.hpp>

#include "src/superstep/apply.hpp"

// A state with a channel of every kind, and supersteps on it without nodes.
namespace kinds {

namespace sg = stategraph;
using sg::engine::State;
using sg::engine::WriteSet;
using Strings = std::vector<std::string>;

inline std::string joinTexts(const std::string& value, const std::string& written) {
    if (written == "bad") throw std::runtime_error("cannot join this");
    return value + "/" + written;
}

struct Kinds {
    std::string last = {};
    std::string any = {};
    std::string once = {};
    std::string hidden = {};
    Strings list = {"first"};
    Strings topic = {};
    std::map<std::string, int> table = {};
    int total = 10;
    int low = 100;
    int high = 0;
    std::string path = "root";

    static constexpr auto channels() {
        return sg::channels(
            sg::channel("last", &Kinds::last), sg::channel("any", &Kinds::any, sg::any_value),
            sg::channel("once", &Kinds::once, sg::ephemeral), sg::channel("hidden", &Kinds::hidden, sg::untracked),
            sg::channel("list", &Kinds::list, sg::append), sg::channel("topic", &Kinds::topic, sg::topic),
            sg::channel("table", &Kinds::table, sg::merge), sg::channel("total", &Kinds::total, sg::sum),
            sg::channel("low", &Kinds::low, sg::min), sg::channel("high", &Kinds::high, sg::max),
            sg::channel("path", &Kinds::path, sg::reduce("join", &joinTexts)));
    }
    bool operator==(const Kinds&) const = default;
};
using Update = sg::Update<Kinds>;

inline const sg::detail::Schema& schema() { return sg::detail::schemaOf<Kinds>(); }

struct Board {
    State state{schema()};
    Kinds& values() { return *static_cast<Kinds*>(state.object()); }
    template <class T>
    bool has(T Kinds::*member) const {
        return state.has(sg::detail::channelIndex(member));
    }

    /// Executes one superstep with one task for each update.
    void step(std::vector<Update> updates) {
        WriteSet writes;
        add(writes, updates);
        std::vector<sg::detail::ChannelIndex> ending;
        findEnding(state, writes, ending);
        applyWrites(state, writes, ending, nullptr);
        endChannels(state, ending);
    }
    static void add(WriteSet& writes, std::vector<Update>& updates) {
        static const std::vector<std::string> names = {"t0", "t1", "t2", "t3", "t4", "t5"};
        for (Update& update : updates) schema().check(update);
        if (updates.size() == 1) {  // as in a run
            writes.assign(schema(), updates.front(), names.front());
            return;
        }
        for (std::size_t i = 0; i < updates.size(); ++i) writes.add(schema(), updates[i], names.at(i));
        writes.close(schema());
    }
};

}  // namespace kinds
