#!/usr/bin/env python3
"""Prepares the documents for MkDocs: stage.py REPOSITORY FOLDER

FOLDER gets docs/ with the Markdown files of the repository at the same places, and mkdocs.yml. A link to a source file
becomes one to a page that shows the file, a link to a folder one to a page that lists it, and a link to the public
headers one to the reference. The contents at the left are those of docs/README.md.
"""
import os
import re
import shutil
import sys

repository, folder = (os.path.abspath(argument) for argument in sys.argv[1:3])
here = os.path.dirname(os.path.abspath(__file__))
pages = os.path.join(folder, "docs")
PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "benchmarks/README.md", "examples/README.md"]
REFERENCE = "include/stategraph"
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".ts": "ts", ".py": "python", ".json": "json", ".mjs": "js", ".sh": "bash"}
shown = set()  # source files and folders that have a page already


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def show(path):
    """The page of a source file or of a folder, as a path below `pages`."""
    if path.endswith(".md"):
        if path not in shown:
            shown.add(path)
            write(os.path.join(pages, path), rewrite(read(os.path.join(repository, path)), path))
        return path
    if os.path.isdir(os.path.join(repository, path)):
        if path + "/README.md" in [*PAGES, "docs/README.md"]:
            return show(path + "/README.md")
        page = path + "/index.md"
        if path not in shown:
            shown.add(path)
            names = sorted(os.listdir(os.path.join(repository, path)))
            rows = [f"- [{name}]({os.path.relpath(show(path + '/' + name), path)})" for name in names
                    if os.path.isfile(os.path.join(repository, path, name))]
            write(os.path.join(pages, page), f"# {path}/\n" + "\n".join(rows) + "\n")
        return page
    extension = os.path.splitext(path)[1]
    if extension in (".png", ".svg", ".jpg"):
        os.makedirs(os.path.dirname(os.path.join(pages, path)), exist_ok=True)
        shutil.copyfile(os.path.join(repository, path), os.path.join(pages, path))
        return path
    page = path + ".md"
    if path not in shown:
        shown.add(path)
        language = LANGUAGES.get(extension, "text")
        write(os.path.join(pages, page), f"# {path}\n``````{language}\n{read(os.path.join(repository, path))}\n``````\n")
    return page


def rewrite(text, page):
    """Links of a page that lead out of the documents."""
    def target_of(match):
        target, anchor = match.group(2), match.group(3) or ""
        if re.match(r"[a-z]+:", target):
            return match.group(0)
        path = os.path.normpath(os.path.join(os.path.dirname(page), target))
        if path == REFERENCE:
            return match.group(1) + os.path.relpath("reference/index.html", os.path.dirname(page) or ".") + match.group(4)
        if path.startswith("..") or not os.path.exists(os.path.join(repository, path)):
            return match.group(0)
        return match.group(1) + os.path.relpath(show(path), os.path.dirname(page) or ".") + anchor + match.group(4)

    return LINK.sub(target_of, text)


def contents():
    """What MkDocs calls nav: the sections of docs/README.md, and the pages that each links to."""
    lines = ["nav:", "  - Home: README.md", "  - All documents: docs/README.md"]
    listed = set()
    for line in read(os.path.join(repository, "docs/README.md")).splitlines():
        if line.startswith("## "):
            lines.append("  - " + repr(line[3:].split(":")[0]) + ":")
            entries = 0
        for text, target in re.findall(r"\[([^\]]+)\]\(([^)#]+\.md)(?:#[^)]*)?\)", line):
            path = os.path.normpath(os.path.join("docs", target))
            if path in listed or path == "README.md" or lines[-1] == "  - All documents: docs/README.md":
                continue
            listed.add(path)
            lines.append("      - " + repr(text) + ": " + path)
        if line.startswith("## Reference"):
            lines.append("      - 'Public headers': reference/index.html")
    return "\n".join(lines) + "\n"


shutil.rmtree(folder, ignore_errors=True)
for page in PAGES:
    found = [page]
    if os.path.isdir(os.path.join(repository, page)):
        found = [os.path.relpath(os.path.join(root, name), repository)
                 for root, _, names in os.walk(os.path.join(repository, page)) for name in names]
    for path in sorted(found):
        show(path)
for name in ("site.css", "drawings.js"):
    shutil.copyfile(os.path.join(here, name), os.path.join(pages, name))
# MkDocs looks for the page of the reference when it reads the contents; Doxygen replaces it.
write(os.path.join(pages, "reference/index.html"), "<title>reference</title>\n")
write(os.path.join(folder, "mkdocs.yml"), read(os.path.join(here, "mkdocs.yml")) + contents())
