import sys
from operator import add, or_
from pathlib import Path
from typing import Annotated, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy, Send


class State(TypedDict):
    folder: str
    paths: list[str]
    counts: Annotated[dict[str, int], or_]
    words: Annotated[int, add]
    report: str


def scan(state: State):
    return {"paths": sorted(str(p) for p in Path(state["folder"]).iterdir() if p.is_file())}


def each_file(state: State):
    return [Send("count", path) for path in state["paths"]]


def count(path: str):
    words = len(Path(path).read_text().split())
    return {"counts": {path: words}, "words": words}


def report(state: State):
    return {"report": f"{len(state['counts'])} files, {state['words']} words"}


graph = StateGraph(State)
graph.add_node("scan", scan)
graph.add_node("count", count, retry_policy=RetryPolicy(max_attempts=3, retry_on=OSError))
graph.add_node("report", report)
graph.add_edge(START, "scan")
graph.add_conditional_edges("scan", each_file, ["count"])
graph.add_edge("count", "report")
graph.add_edge("report", END)
with SqliteSaver.from_conn_string("jobs.db") as saver:
    app = graph.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "job"}, "max_concurrency": 8}
    unfinished = bool(app.get_state(config).next)
    result = app.invoke(None if unfinished else {"folder": sys.argv[1]}, config)
    print(result["report"])
