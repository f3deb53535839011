#pragma once
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

/// A new folder, which the destructor removes with its contents. The constructor throws if it cannot create the folder.
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

    /// Creates a folder that is not removed.
    static std::filesystem::path make() {
        std::string pattern = (std::filesystem::temp_directory_path() / "stategraph-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
        return pattern;
    }

private:
    std::filesystem::path path_;
};
