#pragma once
#include <memory>
#include <string>

#include <stategraph/row_cipher.hpp>

#include "storage/store/rows.hpp"

namespace stategraph::stores {

/// The version of a row that a cipher has sealed. Rows in the clear begin with 1.
inline constexpr unsigned char sealed_version = 2;

/// Rows whose values are sealed in `inner`, which must outlive this object. Keys are in the clear. A value that cannot
/// be opened is a CorruptStoreError naming its item, thrown where the value is read. Rows without a value have nothing
/// to seal.
class SealedRows final : public Rows {
public:
    SealedRows(Rows& inner, std::shared_ptr<RowCipher> cipher) : inner_(inner), cipher_(std::move(cipher)) {}

    std::unique_ptr<View> view(Reads reads) override;
    void update(std::span<const std::string> keys, const Edit& edit, bool lasting) override;
    void checkWritable() const override { inner_.checkWritable(); }
    bool isWritable() const noexcept override { return inner_.isWritable(); }

private:
    Rows& inner_;
    std::shared_ptr<RowCipher> cipher_;
};

}  // namespace stategraph::stores
