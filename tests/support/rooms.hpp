#pragma once
#include <filesystem>
#include <string>
#include <vector>

// What the CMakeLists.txt of each room says (cmake/Rooms.cmake).
namespace rooms_said {

/// The project's folder.
const std::filesystem::path& project();

struct Room {
    std::string name;
    std::string folder;  // "src/run"
    std::vector<std::string> uses;
    std::vector<std::string> headers;
    /// The package, or nothing.
    std::string needs = {};
    bool is_component = true;
};
const std::vector<Room>& rooms();

}  // namespace rooms_said
