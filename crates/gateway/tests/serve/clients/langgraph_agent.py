"""A graph of LangGraph whose model is LangChain's ChatOpenAI, by chat and by responses, streamed and not."""

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

import scene


def graph_of(run, address, by_responses):
    tools = [tool(name)(function) for name, function in run.tools().items()]
    model = ChatOpenAI(
        model="m",
        base_url=f"{address}/v1",
        api_key=run.key,
        max_retries=0,
        streaming=run.stream,
        use_responses_api=by_responses,
    ).bind_tools(tools)
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile()


def main():
    for address in scene.addresses():
        for name, by_responses in [("chat", False), ("responses", True)]:
            for stream in scene.streams():
                run = scene.Scene(f"langgraph-{name}", stream)
                said = graph_of(run, address, by_responses).invoke({"messages": [HumanMessage(scene.ASKED)]})
                last = said["messages"][-1]
                run.tell(last.text or last.additional_kwargs.get("refusal", ""))


main()
