#!/usr/bin/env python3
"""Makes docs/pictures/session.svg, the README's moving picture: ./scripts/recording.py BUILD

BUILD is a build folder with the program `stategraph` and the examples tutorials_pipeline and tutorials_orders. The
commands below are run in an empty folder, and what they print is drawn, line after line, by an animation of CSS that
repeats. Ids are shortened, and times have no date.
"""
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
SESSION = [  # what is typed, and a remark
    ("./pipeline cow", "it is killed with SIGKILL in the middle"),
    ("stategraph ls pipeline.db", "what has finished is stored"),
    ("./pipeline", "a new process runs only the rest"),
    ("echo tea 4 >prices.txt; ./orders", "another graph"),
    ("stategraph fork order-7@1 --store orders.db", "back to before the price, as a branch"),
    ("echo tea 5 >prices.txt; ./orders resume", "the branch runs on"),
    ("stategraph log order-7 --graph --store orders.db", "both branches are there"),
    ("stategraph diff order-7@1 order-7 --store orders.db", "from the fork to its end"),
]
COLUMNS, LINES_MAX = 100, 44
LINE, CHAR, MARGIN, BAR = 19, 8.4, 16, 34
COLOURS = {"typed": "#e6edf3", "remark": "#7d8590", "printed": "#a5d6ff", "ended": "#ff7b72"}


def run(build):
    """The lines of the session: what kind each is, and its text."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for program in ("pipeline", "orders"):
            shutil.copy(build / f"examples/example_tutorials_{program}", Path(folder) / program)
        environment = {**os.environ, "PATH": f"{build}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
        for typed, remark in SESSION:
            lines.append(("typed", f"$ {typed}", remark))
            done = subprocess.run(["bash", "-c", f"{typed}; exit $?"], cwd=folder, env=environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
            for line in done.stdout.rstrip("\n").split("\n"):
                line = re.sub(r"[0-9a-f]{8}-([0-9a-f]{4}-[0-9a-f]{4})-\S*", r"\1", line)
                line = re.sub(r"\d{4}-\d\d-\d\d (\d\d:)", r"\1", line)
                ended = "Killed" in line
                lines.append(("ended" if ended else "printed", "Killed" if ended else line, ""))
            if done.returncode in (-9, 137) and lines[-1][0] != "ended":
                lines.append(("ended", "Killed", ""))
            elif done.returncode not in (0, -9, 137) and " diff " not in typed:
                sys.exit(f"recording: {typed} ended with {done.returncode}:\n{done.stdout}")
    return lines


def draw(lines):
    """The SVG: each line appears at its time, and all vanish at the end."""
    times, now = [], 0.4
    for kind, _, _ in lines:
        now += 1.3 if kind == "typed" else 0.14
        times.append(now)
    total = now + 6
    width, height = round(COLUMNS * CHAR + 2 * MARGIN), BAR + len(lines) * LINE + MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
           'aria-label="A session in a terminal: a run is killed, resumed, forked and compared">',
           "<style>text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre}",
           *(f".{kind}{{fill:{colour}}}" for kind, colour in COLOURS.items()),
           "@media (prefers-reduced-motion:no-preference){g{opacity:0;animation-duration:%.1fs;"
           "animation-iteration-count:infinite}" % total]
    for number, time in enumerate(times):
        at = 100 * time / total
        out.append(f"#l{number}{{animation-name:a{number}}}@keyframes a{number}{{0%,{at:.2f}%{{opacity:0}}"
                   f"{at + 0.01:.2f}%,99%{{opacity:1}}100%{{opacity:0}}}}")
    out += ["}</style>", f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
            *(f'<circle cx="{20 + 20 * i}" cy="17" r="6" fill="#30363d"/>' for i in range(3))]
    for number, (kind, text, remark) in enumerate(lines):
        y = BAR + LINE * (number + 1) - 5
        text = html.escape(text[:COLUMNS], quote=False)
        remark = f'<tspan class="remark">   # {html.escape(remark, quote=False)}</tspan>' if remark else ""
        out.append(f'<g id="l{number}"><text x="{MARGIN}" y="{y}" class="{kind}">{text}{remark}</text></g>')
    return "\n".join([*out, "</svg>"]) + "\n"


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        sys.exit(0 if sys.argv[-1] in ("-h", "--help") else 1)
    build = Path(sys.argv[1]).resolve()
    lines = run(build)
    if len(lines) > LINES_MAX:
        sys.exit(f"recording: the session has {len(lines)} lines, and {LINES_MAX} fit; shorten it.")
    picture = REPO / "docs/pictures/session.svg"
    picture.write_text(draw(lines))
    print(f"{picture}: {len(lines)} lines, {picture.stat().st_size} bytes")
    print("\n".join(text for _, text, _ in lines))


main()
