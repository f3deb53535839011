#include "model/usage_codec.hpp"

#include "model/by_table.hpp"

// How the tokens of a turn are stored: the bytes that any struct with their table has, written with few appends,
// because agents encode them in every round. A test compares them.
namespace stategraph {

static_assert(detail::TableLayout<model::UsageByModel>::count == 6);

void Codec<model::UsageByModel>::encode(Encoder& encoder, const model::UsageByModel& usage) {
    // The names of several models are to be sorted.
    if (encoder.isForPeople() || usage.models.size() > 1) return detail::encodeItem(encoder, model::ByTable(usage));
    detail::StagedEncoder out(encoder.out());
    out.map(6);
    out.key("models");
    out.map(usage.models.size());
    for (const auto& [name, used] : usage.models) {
        out.text(name);
        writeUsage(out, used);
    }
    model::writeTokens(out, usage);
    out.finish();
}

void Codec<model::UsageByModel>::decode(Decoder& decoder, model::UsageByModel& usage) {
    model::ByTable by_table(usage);
    detail::decodeItem(decoder, by_table);
}

}  // namespace stategraph
