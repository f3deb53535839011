"""The recipe of stategraph for Conan 2: `conan create packaging/conan` in a checkout."""
import glob
import json
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, save

# What Conan calls the packages of cmake/Packages.cmake. Rooms that need another one are left out.
PACKAGES = {
    "rocksdb": "rocksdb/9.10.0",
    "sqlite": "sqlite3/3.45.3",
    "postgres": "libpq/15.5",
    "openssl": "openssl/[>=3 <4]",
    "curl": "libcurl/[>=8.2 <9]",
    "re2": "re2/20230301",
}


def read_rooms(root):
    """The folders of the rooms (cmake/Rooms.cmake), and which room needs which package."""
    folders, needs = set(), {}
    for depth in ("*", "*/*", "*/*/*"):
        for path in glob.glob(os.path.join(root, depth, "CMakeLists.txt")):
            folder = os.path.relpath(os.path.dirname(path), root)
            if folder.split(os.sep)[0] in ("build", "examples", "benchmarks", "tests"):
                continue
            with open(path, encoding="utf-8") as file:
                call = re.search(r"^stategraph_room\(\s*(\w+)([^)]*)\)", file.read(), re.MULTILINE)
            if call:
                folders.add(folder.split(os.sep)[0])
                package = re.search(r"\sNEEDS\s+(\w+)", call[2])
                if package:
                    needs[call[1]] = package[1]
    return {"folders": sorted(folders), "needs": needs}


# In Conan's cache the recipe is apart from the sources: export() writes down what it has read in the checkout.
HERE = os.path.dirname(os.path.abspath(__file__))
WRITTEN = os.path.join(HERE, "rooms.json")
if os.path.exists(WRITTEN):
    with open(WRITTEN, encoding="utf-8") as written:
        ROOMS = json.load(written)
else:
    ROOMS = read_rooms(os.path.join(HERE, "../.."))
COMPONENTS = {room: PACKAGES.get(package) for room, package in sorted(ROOMS["needs"].items())}


class Stategraph(ConanFile):
    name = "stategraph"
    description = "Checkpointed state graphs for C++20"
    topics = ("state graph", "checkpoints", "agents", "workflows")
    settings = "os", "compiler", "build_type", "arch"
    package_type = "library"
    options = {"shared": [True, False], "fPIC": [True, False], **{name: [True, False] for name in COMPONENTS if COMPONENTS[name]}}
    default_options = {"shared": False, "fPIC": True, **{name: False for name in COMPONENTS if COMPONENTS[name]}}

    def set_version(self):
        header = os.path.join(self.recipe_folder, "../../include/stategraph/version.hpp")
        with open(header, encoding="utf-8") as file:
            self.version = ".".join(re.findall(r"#define STATEGRAPH_VERSION_\w+ (\d+)", file.read()))

    def export(self):
        save(self, os.path.join(self.export_folder, "rooms.json"), json.dumps(ROOMS))

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "../..")
        for pattern in ("CMakeLists.txt", "LICENSE", "CHANGELOG.md", "cmake/*", "include/*", *(name + "/*" for name in ROOMS["folders"])):
            copy(self, pattern, root, self.export_sources_folder, excludes=("*/node_modules/*",))

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        self.requires("boost/1.86.0", transitive_headers=True, transitive_libs=True)
        self.requires("xxhash/0.8.2")
        for requirement in {COMPONENTS[name] for name in COMPONENTS if self.options.get_safe(name)}:
            self.requires(requirement)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for name in ("BUILD_TESTS", "BUILD_EXAMPLES", "BUILD_BENCHMARKS"):
            toolchain.cache_variables["STATEGRAPH_" + name] = "OFF"
        # Rooms that use one that is off are off by themselves.
        for name in COMPONENTS:
            toolchain.cache_variables["STATEGRAPH_WITH_" + name.upper()] = "ON" if self.options.get_safe(name) else "OFF"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()

    def package_info(self):
        # The package's own CMake files say what its components need.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs.append(os.path.join("lib", "cmake", "stategraph"))
