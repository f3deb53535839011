#include <stategraph/error.hpp>

#include "workflow/state.hpp"

namespace stategraph {
namespace {

using workflow::Record;

// Never destroyed: a run may end after main.
const Record& newRecord() {
    static const Record& record = *new Record();
    return record;
}

// The members of a record with the names they are stored under, which must not change.
template <class R, class F>
void forEachMember(R& record, F visit) {
    const Record& new_record = newRecord();
    visit("status", record.status, new_record.status);
    visit("payload", record.payload, new_record.payload);
    visit("output", record.output, new_record.output);
    visit("error", record.error, new_record.error);
    visit("permanent", record.is_permanent, new_record.is_permanent);
    visit("asked", record.asked, new_record.asked);
    visit("labels", record.labels, new_record.labels);
    visit("resumed", record.resumed, new_record.resumed);
    visit("pending", record.pending, new_record.pending);
    visit("answers", record.answers, new_record.answers);
    visit("child", record.child, new_record.child);
    visit("iteration", record.iteration, new_record.iteration);
    visit("attempts", record.attempts, new_record.attempts);
    visit("started", record.started_ms, new_record.started_ms);
    visit("ended", record.ended_ms, new_record.ended_ms);
    visit("questions", record.questions, new_record.questions);
}

}  // namespace

void Codec<Record>::encode(Encoder& encoder, const Record& record) {
    std::size_t count = 0;
    forEachMember(record,
                  [&](std::string_view, const auto& member, const auto& unset) { count += member == unset ? 0 : 1; });
    encoder.map(count);
    forEachMember(record, [&]<class T>(std::string_view name, const T& member, const T& unset) {
        if (member == unset) return;
        encoder.text(name);
        Codec<T>::encode(encoder, member);
    });
}

void Codec<Record>::decode(Decoder& decoder, Record& record) {
    record = {};
    std::size_t left = 0;
    const Decoder::Nesting nesting(decoder, left);
    for (left = decoder.map(); left > 0; --left) {
        const std::string_view found = decoder.text();
        bool is_known = false;
        forEachMember(record, [&]<class T>(std::string_view name, T& member, const T&) {
            if (is_known || name != found) return;
            is_known = true;
            Codec<T>::decode(decoder, member);
        });
        if (!is_known) (void)decoder.raw();  // a later version's
    }
}

}  // namespace stategraph
