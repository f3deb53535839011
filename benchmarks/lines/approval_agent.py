import json
import os
import signal
import sys

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.prebuilt import create_react_agent
from langgraph.types import Command, interrupt


class Scripted(BaseChatModel):  # stands for a model
    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):
        calls = [
            {"id": "c1", "name": "list", "args": {"path": "/tmp"}},
            {"id": "c2", "name": "remove", "args": {"path": "/tmp/old"}},
        ]
        asked = any(message.type == "ai" for message in messages)
        answer = AIMessage("I removed the old file.") if asked else AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=answer)])


def list(path: str) -> str:
    """Lists a folder"""
    with open("listed.log", "a") as log:
        log.write(path + "\n")
    return f"{path}/old, {path}/new"


def remove(path: str) -> str:
    """Removes a file"""
    if not interrupt({"tool": "remove", "path": path}):
        return "The call was not approved."
    with open("removed.log", "a") as log:
        log.write(path + "\n")
    if "DIE" in os.environ:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{path} is gone"


with SqliteSaver.from_conn_string("agent.db") as saver:
    agent = create_react_agent(Scripted(), [list, remove], prompt="You keep folders tidy.", checkpointer=saver)
    ada = {"configurable": {"thread_id": "ada"}}
    if sys.argv[1] == "ask":
        result = agent.invoke({"messages": [("user", "Tidy up /tmp")]}, ada)
        for question in result["__interrupt__"]:
            print("may I", json.dumps(question.value) + "?")
    else:
        print(agent.invoke(Command(resume=True), ada)["messages"][-1].content)
