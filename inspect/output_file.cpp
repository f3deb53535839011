#include "inspect/output_file.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include <stategraph/error.hpp>

namespace stategraph::inspect {
namespace {

namespace fs = std::filesystem;

void writeTo(const std::string& file_name, const std::string& name, const std::function<void(std::ostream&)>& write) {
    std::ofstream file(file_name, std::ios::binary);
    if (!file) throw SaverError("the file '" + name + "' cannot be written");
    write(file);
    file.close();
    if (!file) throw SaverError("the file '" + name + "' could not be written to its end");
}

// Creates an empty file next to another one, which nobody else can have created. None: the folder is not writable.
std::optional<std::string> makeFileNextTo(const fs::path& place, fs::file_status status) {
    std::string name = place.string() + ".XXXXXX";
    const int file = ::mkstemp(name.data());
    if (file < 0) return {};
    const ::mode_t mask = ::umask(0);
    ::umask(mask);
    const ::mode_t mode = fs::exists(status) ? static_cast<::mode_t>(status.permissions()) : 0666U & ~mask;
    (void)::fchmod(file, mode);  // without it, only this user can read the file
    ::close(file);
    return name;
}

}  // namespace

void writeFile(const std::string& name, const std::function<void(std::ostream&)>& write) {
    std::error_code error;
    const fs::file_status status = fs::status(name, error);
    const bool is_link = fs::is_symlink(fs::symlink_status(name, error));
    if (fs::exists(status) ? !fs::is_regular_file(status) : is_link) return writeTo(name, name, write);
    const fs::path place = is_link ? fs::canonical(name, error) : fs::path(name);
    const auto made = makeFileNextTo(place, status);
    if (!made) return writeTo(name, name, write);
    try {
        writeTo(*made, name, write);
        fs::rename(*made, place);
    } catch (...) {
        fs::remove(*made, error);
        throw;
    }
}

}  // namespace stategraph::inspect
