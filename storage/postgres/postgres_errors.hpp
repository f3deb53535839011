#pragma once
#include <string>
#include <string_view>
#include <utility>

#include <stategraph/error.hpp>

namespace stategraph::checkpoint {

/// The connection broke, or no answer came in time: whether the server did what it was asked is not known.
class PostgresLost : public SaverError {
public:
    using SaverError::SaverError;
};

/// The server's error message.
struct PostgresFailure {
    std::string sqlstate;
    std::string message;
};

/// The server refused a statement, and did nothing of it.
class PostgresRefused : public SaverError {
public:
    PostgresRefused(std::string text, PostgresFailure failure)
        : SaverError(std::move(text)), failure_(std::move(failure)) {}
    const std::string& sqlstate() const noexcept { return failure_.sqlstate; }
    /// Its own words.
    const std::string& said() const noexcept { return failure_.message; }
    /// Whether the error is about the statement itself, and not about a timeout or missing resources, which say nothing
    /// about a put that was sent before and may still be under way.
    bool isCertain() const noexcept {
        const std::string_view code = failure_.sqlstate;
        return code != "57014" && code != "55P03" && !code.starts_with("53") && !code.starts_with("40");
    }
    /// It was in others' way: the same statement may succeed.
    bool mayBeRetried() const noexcept { return failure_.sqlstate == "40001" || failure_.sqlstate == "40P01"; }

private:
    PostgresFailure failure_;
};

/// Throws the errors of one database: SaverError and CorruptCheckpointError. All of them name its place.
class PostgresErrors {
public:
    /// `place` completes "the database ": its name, server and schema.
    PostgresErrors(std::string place, std::string schema) : place_(std::move(place)), schema_(std::move(schema)) {}

    const std::string& schema() const noexcept { return schema_; }
    /// Completes "the database ".
    const std::string& place() const noexcept { return place_; }

    [[noreturn]] void refuseOpening(const std::string& why) const;
    [[noreturn]] void fail(const std::string& what) const;
    /// `what` completes "the database … ", as an error of damage.
    [[noreturn]] void failUnreadable(const std::string& what) const;
    /// Throws PostgresLost.
    [[noreturn]] void failLost(std::string_view work, const std::string& why) const;
    /// Throws what a failed statement means, PostgresRefused or CorruptCheckpointError; `work` completes "could not ".
    [[noreturn]] void failCall(const PostgresFailure& failure, std::string_view work) const;

private:
    std::string place_;
    std::string schema_;
};

/// Calls `call`, whose errors are a saver's, and throws those of a store.
template <class Call>
auto asStore(Call&& call) {
    try {
        return call();
    } catch (const CorruptCheckpointError& error) {
        throw CorruptStoreError(error.message());
    } catch (const SaverError& error) {
        throw StoreError(error.message());
    }
}

}  // namespace stategraph::checkpoint
