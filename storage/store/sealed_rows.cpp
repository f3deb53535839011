#include "storage/store/sealed_rows.hpp"

#include <utility>
#include <vector>

#include <stategraph/error.hpp>

#include "storage/store/item_record.hpp"

namespace stategraph::stores {
namespace {

std::string open(RowCipher& cipher, std::string_view key, std::string_view value) {
    if (value.empty()) return {};
    try {
        return cipher.open(key, value);
    } catch (const WrongTypeError& error) {
        corrupt(key, error.message());
    }
}

class SealedCursor final : public Cursor {
public:
    SealedCursor(std::unique_ptr<Cursor> inner, RowCipher& cipher) : inner_(std::move(inner)), cipher_(cipher) {}

    bool seek(std::string_view key) override {
        is_open_ = false;
        return inner_->seek(key);
    }
    bool next() override {
        is_open_ = false;
        return inner_->next();
    }
    std::string_view key() const override { return inner_->key(); }
    // The value is opened only when it is requested, so that walks over keys alone need no encryption key.
    std::string_view value() const override {
        if (!is_open_) value_ = open(cipher_, inner_->key(), inner_->value());
        is_open_ = true;
        return value_;
    }

private:
    std::unique_ptr<Cursor> inner_;
    RowCipher& cipher_;
    mutable std::string value_;
    mutable bool is_open_ = false;
};

class SealedView final : public View {
public:
    SealedView(std::unique_ptr<View> inner, RowCipher& cipher) : inner_(std::move(inner)), cipher_(cipher) {}

    std::optional<std::string> get(std::string_view key) override {
        auto value = inner_->get(key);
        if (value) value = open(cipher_, key, *value);
        return value;
    }
    std::unique_ptr<Cursor> rows(std::string lower, std::string upper) override {
        return std::make_unique<SealedCursor>(inner_->rows(std::move(lower), std::move(upper)), cipher_);
    }

private:
    std::unique_ptr<View> inner_;
    RowCipher& cipher_;
};

class SealedLookup final : public Lookup {
public:
    SealedLookup(Lookup& inner, RowCipher& cipher) : inner_(inner), cipher_(cipher) {}

    std::optional<std::string> get(std::string_view key) override {
        auto value = inner_.get(key);
        if (value) value = open(cipher_, key, *value);
        return value;
    }

private:
    Lookup& inner_;
    RowCipher& cipher_;
};

}  // namespace

std::unique_ptr<View> SealedRows::view(Reads reads) {
    return std::make_unique<SealedView>(inner_.view(reads), *cipher_);
}

void SealedRows::update(std::span<const std::string> keys, const Edit& edit, bool lasting) {
    const Edit sealing = [&](Lookup& rows) {
        SealedLookup opened(rows, *cipher_);
        std::vector<Change> changes = edit(opened);
        for (Change& change : changes) {
            if (change.value && !change.value->empty()) change.value = cipher_->seal(change.key, *change.value);
        }
        return changes;
    };
    inner_.update(keys, sealing, lasting);
}

}  // namespace stategraph::stores
