import asyncio
import json
from operator import add
from typing import Annotated, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph


class Chat(TypedDict):
    turns: Annotated[list[str], add]


async def answer(state: Chat):
    write = get_stream_writer()
    text = ""
    for word in ["You", "said:", state["turns"][-1]]:  # stands for a model that streams
        await asyncio.sleep(0.02)
        write(word)
        text += word + " "
    return {"turns": [text]}


async def serve(app, reader, writer):
    request = json.loads(await reader.readline())
    config = {"configurable": {"thread_id": request["thread"]}}
    async for word in app.astream({"turns": [request["text"]]}, config, stream_mode="custom"):
        writer.write(json.dumps(word).encode() + b"\n")
        await writer.drain()
    writer.close()


async def main():
    graph = StateGraph(Chat)
    graph.add_node("answer", answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    async with AsyncSqliteSaver.from_conn_string("chats.db") as saver:
        app = graph.compile(checkpointer=saver)
        server = await asyncio.start_server(lambda r, w: serve(app, r, w), port=8080)
        await server.serve_forever()


asyncio.run(main())
