from operator import add
from typing import Annotated, Literal, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt


class Payment(TypedDict):
    amount: int
    log: Annotated[list[str], add]


def approve(state: Payment) -> Command[Literal["pay", "cancel"]]:
    decision = interrupt({"question": f"Pay {state['amount']}?"})
    who = decision["by"]
    return Command(update={"log": [f"decided by {who}"]}, goto="pay" if decision["approved"] else "cancel")


def pay(state: Payment):
    return {"log": ["paid"]}


def cancel(state: Payment):
    return {"log": ["cancelled"]}


graph = StateGraph(Payment)
graph.add_node("approve", approve)
graph.add_node("pay", pay)
graph.add_node("cancel", cancel)
graph.add_edge(START, "approve")
graph.add_edge("pay", END)
graph.add_edge("cancel", END)
with SqliteSaver.from_conn_string("payments.db") as saver:
    app = graph.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": "A"}}
    paused = app.invoke({"amount": 120}, config)
    print(paused["__interrupt__"])
    print(app.invoke(Command(resume={"approved": True, "by": "Ada"}), config))
