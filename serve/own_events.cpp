#include <sstream>

#include <stategraph/serve/protocol.hpp>

namespace stategraph::serve {

namespace {

class OwnEvents final : public Encoder {
public:
    explicit OwnEvents(const NdjsonOptions& options) : writer_(text_, options) {}

    void take(const HubEvent& event, std::vector<std::string>& lines) override {
        text_.str({});
        if (!writer_.write(event)) return;
        std::string line = text_.str();
        while (!line.empty() && line.back() == '\n') line.pop_back();
        lines.push_back(std::move(line));
    }

private:
    std::ostringstream text_;
    NdjsonWriter writer_;
};

}  // namespace

Protocol ownEvents(StreamModes modes, NdjsonOptions options) {
    options.flush_every = 0;
    return {.name = "events", .encoder = [options] { return std::make_unique<OwnEvents>(options); }, .modes = modes};
}

}  // namespace stategraph::serve
