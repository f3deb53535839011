#!/usr/bin/env python3
"""Writes the library as one header and one source: ./scripts/amalgamate.py [FOLDER] (build/amalgamation)

./scripts/amalgamate.py --headers names the public headers that are in it.

FOLDER gets stategraph.hpp and stategraph.cpp: the core, coroutines, and the savers, stores and caches in memory and in
SQLite. What belongs to them is read from the rooms' CMakeLists.txt (cmake/Rooms.cmake). The same tree writes the same
bytes. Public headers that need Boost or doctest are left out, because the header needs the standard library alone.
"""
import re
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
WANTED = ("core", "async", "sqlite")  # and the parts of them
OPTIONAL = {"sqlite": "STATEGRAPH_WITHOUT_SQLITE"}
INCLUDE = re.compile(r'\s*#\s*include\s+([<"])([^>"]+)[>"]')


def fail(sentence):
    sys.exit(f"amalgamate: {sentence}")


class Room:
    """A call of stategraph_room()."""

    LISTS = ("USES", "USES_IF_BUILT", "HEADERS", "LINKS", "TESTS", "TESTS_USE", "TESTS_LINK")
    SINGLE = ("PART_OF", "NEEDS", "TESTED_BY")
    FLAGS = ("BUNDLED", "ASIO", "ON_EVERY_KIND", "STARTS_THREADS")

    def __init__(self, folder, words):
        self.folder = folder
        self.name = words[0]
        self.words = {}
        place = None
        for word in words[1:]:
            if word in self.FLAGS:
                place = None
            elif word in self.LISTS + self.SINGLE:
                place = self.words.setdefault(word, [])
            elif place is not None:
                place.append(word)
            else:
                fail(f"{folder}/CMakeLists.txt: {word} is no word of cmake/Rooms.cmake that this script knows.")


def read_rooms():
    """All rooms by name, and each folder with a CMakeLists.txt, whose files are nobody else's."""
    rooms, folders = {}, []
    for depth in ("*", "*/*", "*/*/*"):
        for path in sorted(REPO.glob(depth + "/CMakeLists.txt")):
            folder = path.parent.relative_to(REPO).as_posix()
            if folder.split("/")[0] in ("build", "examples", "benchmarks", "tests"):
                continue
            folders.append(folder)
            text = re.sub(r"#.*", "", path.read_text())
            call = re.search(r"^stategraph_room\(\s*(.*?)\)", text, re.S | re.M)
            if call:
                room = Room(folder, call.group(1).split())
                rooms[room.name] = room
    return rooms, folders


def in_order(rooms, names):
    """The rooms, each after those that it uses."""
    placed = []

    def place(name):
        if name in placed or name not in names:
            return
        for used in rooms[name].words.get("USES", []):
            place(used)
        placed.append(name)

    for name in sorted(names):
        place(name)
    return placed


def sources_of(room, folders):
    others = [f for f in folders if f.startswith(room.folder + "/")]
    for path in sorted((REPO / room.folder).rglob("*.cpp")):
        name = path.relative_to(REPO).as_posix()
        if not any(name.startswith(other + "/") for other in others):
            yield name


def public_headers(rooms, room):
    """Names below include/stategraph/. The core's are those that no other room names."""
    if room != "core":
        return sorted(rooms[room].words.get("HEADERS", []))
    claimed = {h for other in rooms.values() if other.name != "core" for h in other.words.get("HEADERS", [])}
    include = REPO / "include/stategraph"
    names = [p.relative_to(include).as_posix()[:-4] for f in (include, include / "detail") for p in f.glob("*.hpp")]
    return sorted(name for name in names if name not in claimed)


def read(name):
    return (REPO / name).read_text().splitlines()


def needs_more(name, seen=None):
    """Whether a public header includes what is neither the library's nor the standard's."""
    seen = seen if seen is not None else set()
    if name in seen:
        return False
    seen.add(name)
    for line in read("include/" + name):
        found = INCLUDE.match(line)
        if not found:
            continue
        target = found.group(2)
        if target.startswith("stategraph/"):
            if needs_more(target, seen):
                return True
        elif "/" in target and not target.startswith(("bits/", "sys/")) or target.startswith("doctest"):
            return True
    return False


class File:
    """One of the two files: what is included is written in its place, once."""

    def __init__(self, known=()):
        self.lines = []
        self.written = set(known)  # the library's headers that are there
        self.system = set()  # headers of others, for the top
        self.defined = set()  # macros for the top

    def resolve(self, kind, target):
        if kind == "<":
            return "include/" + target if target.startswith("stategraph/") else None
        return target if (REPO / target).exists() else None

    def add(self, name):
        if name in self.written:
            return
        self.written.add(name)
        depth, body = 0, []
        for line in read(name):
            directive = re.match(r"\s*#\s*(\w+)", line)
            word = directive.group(1) if directive else ""
            if word == "pragma" and "once" in line:
                continue
            if word in ("if", "ifdef", "ifndef"):
                depth += 1
            elif word == "endif":
                depth -= 1
            elif word == "define" and re.fullmatch(r"\s*#\s*define XXH_INLINE_ALL\s*", line):
                self.defined.add("XXH_INLINE_ALL")
                continue
            elif word == "include":
                kind, target = INCLUDE.match(line).groups()
                inside = self.resolve(kind, target)
                if inside:
                    if depth and inside not in self.written:
                        fail(f"{name}: {inside} is included under a condition, and nowhere else before.")
                    if inside not in self.written:
                        self.lines += named(name, body)
                        body = []
                        self.add(inside)
                    continue
                if kind == '"':
                    fail(f"{name}: {target} is no file of the repository.")
                if not depth:
                    self.system.add(target)
                    continue
            body.append(line)
        self.lines += named(name, body)


def named(name, body):
    """A part of a file, with the file's name; nothing, if it has no text."""
    if not any(line.strip() for line in body):
        return []
    return ["", f"// {'-' * (116 - len(name))} {name}", *body]


def squeezed(lines):
    """Without empty lines that follow each other."""
    out = []
    for line in lines:
        if line.strip() or (out and out[-1].strip()):
            out.append(line.rstrip())
    return out


def includes(system):
    return [f"#include <{name}>" for name in sorted(system)]


def version():
    text = (REPO / "include/stategraph/version.hpp").read_text()
    return ".".join(re.findall(r"#define STATEGRAPH_VERSION_\w+ +(\d+)", text))


def licence():
    return ["//", *(("// " + line).rstrip() for line in read("LICENSE"))]


def guarded(room, lines):
    """Lines that a macro leaves out, if the room has one."""
    if room not in OPTIONAL or not lines:
        return lines
    return ["", f"#ifndef {OPTIONAL[room]}", *lines, "", f"#endif  // {OPTIONAL[room]}"]


def make_header(rooms):
    """The header, and the names of the public headers in it."""
    header, names = File(), []
    for room in WANTED:
        before = len(header.lines)
        for name in public_headers(rooms, room):
            path = f"stategraph/{name}.hpp"
            if not needs_more(path):
                names.append(path)
                header.add("include/" + path)
        header.lines[before:] = guarded(room, header.lines[before:])
    return header, names


def make_source(rooms, folders, known):
    source = File(known)
    parts = {room.name for room in rooms.values() if room.words.get("PART_OF") == ["core"]}
    for name in in_order(rooms, parts | set(WANTED)):
        before, system = len(source.lines), set(source.system)
        for file in sources_of(rooms[name], folders):
            source.add(file)
        if name in OPTIONAL:  # what it alone includes is left out with it
            own, source.system = sorted(source.system - system), system
            source.lines[before:] = guarded(name, ["", *includes(own), *source.lines[before:]])
    return source


def main():
    arguments = sys.argv[1:]
    if len(arguments) > 1 or arguments and arguments[0].startswith("-") and arguments[0] != "--headers":
        print(__doc__)
        sys.exit(0 if arguments[0] in ("-h", "--help") else 1)
    rooms, folders = read_rooms()
    for name in WANTED:
        if name not in rooms:
            fail(f"there is no room {name}.")
    header, names = make_header(rooms)
    if arguments == ["--headers"]:
        print("\n".join(names))
        return
    source = make_source(rooms, folders, header.written)

    out = Path(arguments[0]) if arguments else REPO / "build/amalgamation"
    out.mkdir(parents=True, exist_ok=True)
    what = f"stategraph {version()} in one header and one source, made by scripts/amalgamate.py."
    files = {
        "stategraph.hpp": [
            f"// {what} It needs C++20 and nothing else; stategraph.cpp says what it needs.", *licence(), "#pragma once",
            *includes(header.system), *header.lines],
        "stategraph.cpp": [
            "// Needs C++20, the headers of Boost 1.81 (Graph and Intrusive), xxhash.h, and SQLite 3.37 (-lsqlite3; "
            "without: -DSTATEGRAPH_WITHOUT_SQLITE): c++ -std=c++20 -pthread app.cpp stategraph.cpp -lsqlite3",
            f"// {what}", *licence(), '#include "stategraph.hpp"', "",
            *(f"#define {name}" for name in sorted(source.defined)), *includes(source.system), *source.lines],
    }
    for name, lines in files.items():
        lines = squeezed(lines)
        (out / name).write_text("\n".join(lines) + "\n")
        print(f"{out / name}: {len(lines)} lines")


main()
