"""The recipe of stategraph for Conan 2: `conan create packaging/conan` in a checkout."""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy

# The option, the component of the package, and what it requires.
COMPONENTS = {
    "rocksdb": "rocksdb/9.10.0",
    "sqlite": "sqlite3/3.45.3",
    "postgres": "libpq/15.5",
    "encryption": "openssl/[>=3 <4]",
    "model_http": "openssl/[>=3 <4]",
}


class Stategraph(ConanFile):
    name = "stategraph"
    description = "Checkpointed state graphs for C++20"
    topics = ("state graph", "checkpoints", "agents", "workflows")
    settings = "os", "compiler", "build_type", "arch"
    package_type = "library"
    options = {"shared": [True, False], "fPIC": [True, False], **{name: [True, False] for name in COMPONENTS}}
    default_options = {"shared": False, "fPIC": True, **{name: False for name in COMPONENTS}}

    def set_version(self):
        header = os.path.join(self.recipe_folder, "../../include/stategraph/version.hpp")
        with open(header, encoding="utf-8") as file:
            self.version = ".".join(re.findall(r"#define STATEGRAPH_VERSION_\w+ (\d+)", file.read()))

    def export_sources(self):
        root = os.path.join(self.recipe_folder, "../..")
        for pattern in ("CMakeLists.txt", "LICENSE", "CHANGELOG.md", "cmake/*", "include/*", "src/*", "checkpoint/*", "store/*",
                        "storage/*", "json/*", "async/*", "schema/*", "workflow/*", "model/*", "agent/*", "serve/*", "inspect/*",
                        "worker/*"):
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
        for name in ("BUILD_TESTS", "BUILD_EXAMPLES", "BUILD_BENCHMARKS", "WITH_SCHEMA", "WITH_WORKFLOW_JSON"):
            toolchain.cache_variables["STATEGRAPH_" + name] = "OFF"
        for name in COMPONENTS:
            toolchain.cache_variables["STATEGRAPH_WITH_" + name.upper()] = "ON" if self.options.get_safe(name) else "OFF"
        toolchain.cache_variables["STATEGRAPH_WITH_INSPECT"] = "ON" if self.options.rocksdb else "OFF"
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
