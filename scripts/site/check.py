#!/usr/bin/env python3
"""Checks a site: check.py FOLDER. Every link leads to a page and a place that exist, and no page loads anything from
another host. Prints what is wrong, and exits with 1 if anything is."""
import os
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

site = os.path.abspath(sys.argv[1])
LOADS = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("object", "data")}


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.places, self.links, self.loads = set(), [], []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.places.update(values[name] for name in ("id", "name") if values.get(name))
        if tag == "link" and values.get("rel") not in ("canonical", "alternate", "next", "prev") and values.get("href"):
            self.loads.append(values["href"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        for name, value in attributes:
            if (tag, name) in LOADS and value:
                self.loads.append(value)


pages = {}
for root, _, names in os.walk(site):
    for name in names:
        if name.endswith(".html"):
            path = os.path.join(root, name)
            pages[path] = Page(path)

wrong = []
for path, page in pages.items():
    shown = os.path.relpath(path, site)
    # Doxygen makes its own links, and looks after them; what it loads counts.
    is_reference = shown.startswith("reference" + os.sep)
    for url in page.loads + ([] if is_reference else page.links):
        parts = urlsplit(url)
        if parts.scheme or parts.netloc:
            if url in page.loads and parts.scheme not in ("data", "javascript"):
                wrong.append(f"{shown}: loads {url} from another host")
            continue
        if shown == "404.html":
            continue  # its links begin at the root of a server
        target = os.path.normpath(os.path.join(os.path.dirname(path), unquote(parts.path))) if parts.path else path
        if os.path.isdir(target):
            target = os.path.join(target, "index.html")
        if not os.path.exists(target):
            wrong.append(f"{shown}: {url} leads nowhere")
        elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
            wrong.append(f"{shown}: {url} names a place that the page does not have")
for line in wrong:
    print(line)
print(f"{len(pages)} pages, {len(wrong)} faults")
sys.exit(1 if wrong else 0)
