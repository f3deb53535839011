#pragma once
#include <filesystem>
#include <string>
#include <system_error>

// Files and folders that nobody but their owner may read, whatever the umask: conversations are in them.
namespace stategraph::checkpoint {

/// Makes the folders of a path that are missing, with 0700. Returns what went wrong.
std::error_code makeOwnerFolders(const std::filesystem::path& folder);
/// Makes an empty file with 0600 if nothing has its name. What goes wrong is found when the file is opened. Safe from
/// any thread: a file is made only once, and no lock of this process on it is lost.
void makeOwnerFile(const std::string& path);

}  // namespace stategraph::checkpoint
