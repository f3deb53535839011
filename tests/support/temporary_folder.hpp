#pragma once
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

/// A new folder of its own, gone with all that is in it at the end. Throws if it cannot be made.
class TemporaryFolder {
public:
    TemporaryFolder() : path_(make()) {}
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
        std::filesystem::remove_all(path_, ignored);
    }

    const std::filesystem::path& path() const noexcept { return path_; }
    std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

    /// One that stays.
    static std::filesystem::path make() {
        std::string pattern = (std::filesystem::temp_directory_path() / "stategraph-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
        return pattern;
    }

private:
    std::filesystem::path path_;
};
