import json
from operator import add
from typing import Annotated, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph


class Turn(TypedDict, total=False):
    role: str
    text: str
    calls: list[dict]


class Chat(TypedDict):
    turns: Annotated[list[Turn], add]


def weather(city: str) -> str:
    return "sunny" if city == "Lisbon" else "rain"


def population(city: str) -> str:
    return "545,000" if city == "Lisbon" else "unknown"


tools = {"weather": weather, "population": population}


def complete(turns: list[Turn]) -> Turn:  # stands for a model
    if turns[-1]["role"] == "user":
        calls = [{"tool": name, "args": {"city": "Lisbon"}} for name in tools]
        return {"role": "model", "text": "", "calls": calls}
    return {"role": "model", "text": "; ".join(t["text"] for t in turns[-2:]), "calls": []}


def model(state: Chat):
    return {"turns": [complete(state["turns"])]}


def act(state: Chat):
    results = [tools[call["tool"]](**call["args"]) for call in state["turns"][-1]["calls"]]
    return {"turns": [{"role": "tool", "text": result, "calls": []} for result in results]}


def route(state: Chat):
    return "act" if state["turns"][-1]["calls"] else END


graph = StateGraph(Chat)
graph.add_node("model", model)
graph.add_node("act", act)
graph.add_edge(START, "model")
graph.add_conditional_edges("model", route, ["act", END])
graph.add_edge("act", "model")
with SqliteSaver.from_conn_string("chats.db") as saver:
    app = graph.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "ada"}}
    question = {"role": "user", "text": "How is Lisbon?", "calls": []}
    print(app.invoke({"turns": [question]}, config)["turns"][-1]["text"])
