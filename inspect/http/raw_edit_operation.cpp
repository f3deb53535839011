#include <map>
#include <string>
#include <utility>

#include <stategraph/codec_std.hpp>
#include <stategraph/raw_edit.hpp>
#include <stategraph/read_checkpoint.hpp>

#include "inspect/http/api_call.hpp"
#include "inspect/leased.hpp"

// The operation that sets channels without the program.
namespace stategraph::inspect {
namespace {

using Values = std::map<std::string, Value>;

struct RawEditBody {
    Values values;
    std::string note;
    bool any_kind = false;
    static constexpr auto fields() {
        return stategraph::fields(field("values", &RawEditBody::values), field("note", &RawEditBody::note, defaulted),
                                  field("any_kind", &RawEditBody::any_kind, defaulted));
    }
};
struct RawEditedView {
    std::string checkpoint_id;
    static constexpr auto fields() { return stategraph::fields(field("checkpoint_id", &RawEditedView::checkpoint_id)); }
};

// A page that shows "•••" instead of a part of a value would store it.
void refuseRedacted(const ApiCall& call, const Values& values) {
    const Redaction& redaction = call.api.redaction();
    if (redaction.isEmpty()) return;
    const auto isChanged = [&](const Value& whole) { return redaction.apply(whole, "") != whole; };
    Values stored;
    if (const auto snapshot = readCheckpoint(call.api.saver(), call.config())) {
        Decoder in(snapshot->values_as_cbor.bytes());
        for (std::size_t count = in.map(); count > 0; --count) {
            std::string channel(in.text());
            const std::string_view value = in.raw();
            if (values.contains(channel)) stored.emplace(std::move(channel), Value::fromCbor(std::string(value)));
        }
    }
    if (isChanged(Value(stored)) || isChanged(Value(values)))
        throw Refused{403,
                      "some of these channels are redacted here, so they are not edited here; use the command line"};
}

}  // namespace

serve::HandlerAnswer storeRawEdit(ApiCall& call) {
    const auto body = call.body<RawEditBody>();
    if (!call.api.runs().last(call.thread).has_ended)
        throw Refused{409, "thread '" + call.thread + "' has a run that this page began; stop it first"};
    refuseRedacted(call, body.values);
    refuseLeased(call.api.sharedSaver(), call.thread);
    Metadata metadata = {{"by", "stategraph inspector"}};
    if (!body.note.empty()) metadata.push_back({"note", body.note});
    const Config made = editRaw(call.api.saver(), call.config(), body.values,
                                {.any_kind = body.any_kind, .metadata = metadata, .durability = Durability::sync});
    return json(RawEditedView{made.checkpoint_id.toString()});
}

}  // namespace stategraph::inspect
