#pragma once
#include <string>

#include <stategraph/error.hpp>

// What a call of a saver, a store or a cache throws, as text.
namespace database_tests {

/// The exception that a call throws, as "SaverError: …" or similar; empty if it throws none.
template <class Call>
std::string databaseError(Call&& call) {
    try {
        call();
    } catch (const stategraph::SaverError& error) {
        return "SaverError: " + std::string(error.what());
    } catch (const stategraph::CorruptCheckpointError& error) {
        return "CorruptCheckpointError: " + std::string(error.what());
    } catch (const stategraph::CorruptStoreError& error) {
        return "CorruptStoreError: " + std::string(error.what());
    } catch (const stategraph::StoreError& error) {
        return "StoreError: " + std::string(error.what());
    } catch (const stategraph::InvalidArgumentError& error) {
        return "InvalidArgumentError: " + std::string(error.what());
    } catch (const stategraph::LeaseLostError& error) {
        return "LeaseLostError: " + std::string(error.what());
    } catch (const stategraph::ConcurrentUpdateError& error) {
        return "ConcurrentUpdateError: " + std::string(error.what());
    }
    return {};
}
inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace database_tests
