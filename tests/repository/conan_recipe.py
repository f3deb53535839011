"""Runs packaging/conan/conanfile.py as Conan does, without Conan: what it exports must configure, with each room that is on.

    conan_recipe.py CMAKE FOLDER [ARGUMENT_OF_CMAKE]...
"""
import fnmatch
import os
import shutil
import subprocess
import sys
import types

cmake, folder, arguments = sys.argv[1], os.path.abspath(sys.argv[2]), sys.argv[3:]
repo = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
shutil.rmtree(folder, ignore_errors=True)


def copy(_, pattern, source, target, excludes=()):
    """As conan.tools.files.copy: the pattern is of the path below `source`."""
    below = os.path.join(source, pattern.split("*")[0]) if "*" in pattern else source
    for path, folders, files in os.walk(below):
        folders[:] = [name for name in folders if name not in ("node_modules", ".git")]
        for name in files:
            relative = os.path.relpath(os.path.join(path, name), source)
            if fnmatch.fnmatch(relative, pattern) and not any(fnmatch.fnmatch(relative, each) for each in excludes):
                os.makedirs(os.path.dirname(os.path.join(target, relative)), exist_ok=True)
                shutil.copy2(os.path.join(source, relative), os.path.join(target, relative))
        if "*" not in pattern:
            break


def save(_, path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Options(dict):
    """The options of one package."""

    def get_safe(self, name):
        return self.get(name)


class Toolchain:
    """As CMakeToolchain: keeps what the recipe sets."""

    last = None

    def __init__(self, _):
        self.cache_variables = {}
        Toolchain.last = self

    def generate(self):
        pass


def module(name, **members):
    made = types.ModuleType(name)
    made.__dict__.update(members)
    sys.modules[name] = made


nothing = type("Nothing", (), {"__init__": lambda self, *_: None, "generate": lambda self: None})
module("conan", ConanFile=type("ConanFile", (), {"requires": lambda self, *_, **__: None}))
module("conan.tools")
module("conan.tools.build", check_min_cppstd=lambda *_: None)
module("conan.tools.cmake", CMake=nothing, CMakeDeps=nothing, CMakeToolchain=Toolchain, cmake_layout=lambda _: None)
module("conan.tools.files", copy=copy, save=save)


def load(path):
    made = {"__file__": path, "__name__": "conanfile"}
    with open(path, encoding="utf-8") as file:
        exec(compile(file.read(), path, "exec"), made)
    return made


def recipe(made, export):
    each = made["Stategraph"]()
    each.recipe_folder = os.path.dirname(made["__file__"])
    each.export_folder = export
    each.export_sources_folder = os.path.join(folder, "sources")
    return each


# In the checkout, and then from the cache, where nothing but the recipe and what it exported is beside it.
export = os.path.join(folder, "recipe")
os.makedirs(export)
first = recipe(load(os.path.join(repo, "packaging/conan/conanfile.py")), export)
first.set_version()
first.export()
first.export_sources()
shutil.copy2(os.path.join(repo, "packaging/conan/conanfile.py"), export)
cached = load(os.path.join(export, "conanfile.py"))
assert cached["ROOMS"]["folders"], "the cached recipe knows no folder"

optional = sorted(cached["Stategraph"].options.keys() - {"shared", "fPIC"})
assert {"rocksdb", "sqlite", "postgres", "encryption", "model_http"} <= set(optional), optional
for is_on in (False, True):
    package = recipe(cached, export)
    package.options = Options({name: is_on for name in optional})
    package.requirements()
    package.generate()
    build = os.path.join(folder, f"build_{is_on}")
    options = [f"-D{name}={value}" for name, value in Toolchain.last.cache_variables.items()]
    subprocess.run([cmake, "-S", os.path.join(folder, "sources"), "-B", build, *options, *arguments], check=True, stdout=subprocess.DEVNULL)
    with open(os.path.join(build, "rooms.txt"), encoding="utf-8") as file:
        rooms = {row.split("|")[0]: row.split("|")[1].split() for row in file}
    built = {name for name, words in rooms.items() if "built" in words}
    wanted = set(optional) | {"inspect", "worker", "mcp_http", "langgraph_webhooks"} if is_on else {"core", "json", "async", "workflow", "agent", "mcp", "serve"}
    assert wanted <= built, f"with all options {is_on}, these are not built: {wanted - built}"
    assert is_on or not built & set(optional), f"these were off, and are built: {built & set(optional)}"
