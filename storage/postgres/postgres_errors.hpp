#pragma once
#include <string>
#include <string_view>
#include <utility>

#include <stategraph/error.hpp>

namespace stategraph::checkpoint {

/// The connection broke, or no answer came in time, so it is not known whether the server did what was requested.
class PostgresLost : public SaverError {
public:
    using SaverError::SaverError;
};

/// The server's error message.
struct PostgresFailure {
    std::string sqlstate;
    std::string message;
};

/// The server refused a statement, and changed nothing.
class PostgresRefused : public SaverError {
public:
    PostgresRefused(std::string text, PostgresFailure failure)
        : SaverError(std::move(text)), failure_(std::move(failure)) {}
    const std::string& sqlstate() const noexcept { return failure_.sqlstate; }
    /// Returns the server's message.
    const std::string& said() const noexcept { return failure_.message; }
    /// Returns whether the error is about the statement itself. Timeouts and missing resources are not: they say
    /// nothing about a put that was sent before and may still be under way.
    bool isCertain() const noexcept {
        const std::string_view code = failure_.sqlstate;
        return code != "57014" && code != "55P03" && !code.starts_with("53") && !code.starts_with("40");
    }
    /// Returns whether the same statement may succeed later, because it only conflicted with others.
    bool mayBeRetried() const noexcept { return failure_.sqlstate == "40001" || failure_.sqlstate == "40P01"; }

private:
    PostgresFailure failure_;
};

/// Throws the errors of one database: SaverError and CorruptCheckpointError. All of them name its place.
class PostgresErrors {
public:
    /// `place` completes "the database ". It has the database's name, server and schema.
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
    /// Throws PostgresRefused or CorruptCheckpointError, depending on why a statement failed; `work` completes "could
    /// not ".
    [[noreturn]] void failCall(const PostgresFailure& failure, std::string_view work) const;

private:
    std::string place_;
    std::string schema_;
};

/// Calls `call`, which throws errors of a saver, and throws those of a store instead.
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
