"""A model that plays a script over the interfaces of the vendors, on loopback.

So the examples run anywhere, and do the same every time. Each request takes the next turn of the script: a text, or
tool calls as pairs of a name and arguments.
"""

from __future__ import annotations

import itertools
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple, Union

Turn = Union[str, Sequence[Tuple[str, Mapping[str, Any]]]]


class ScriptedModel:
    """A script, and the requests that came."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self.turns = list(turns)
        self.requests: List[Dict[str, Any]] = []
        self.url = ""

    def next(self, request: Dict[str, Any]) -> Tuple[str, List[Dict[str, Any]]]:
        """Returns the text of the next turn, and its calls."""
        self.requests.append(request)
        turn: Turn = self.turns.pop(0) if self.turns else "That is all."
        if isinstance(turn, str):
            return turn, []
        number = len(self.requests)
        calls = enumerate(turn)
        return "", [{"id": f"call_{number}_{place}", "name": name, "args": args} for place, (name, args) in calls]


@contextmanager
def scripted_model(turns: Sequence[Turn]) -> Iterator[ScriptedModel]:
    """Serves the script while the block runs."""
    model = ScriptedModel(turns)

    class Service(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            text, calls = model.next(request)
            shape = SHAPES[self.path.rsplit("/", 1)[-1]]
            if request.get("stream"):
                body, kind = "".join(shape[1](text, calls)), "text/event-stream"
            else:
                body, kind = json.dumps(shape[0](text, calls)), "application/json"
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: Any) -> None:
            """Logs nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    model.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()


def event(data: Any, name: str = "") -> str:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n"


# Chat Completions


def chat(text: str, calls: List[Dict[str, Any]]) -> Dict[str, Any]:
    message: Dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = [chat_call(call) for call in calls]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def chat_call(call: Dict[str, Any]) -> Dict[str, Any]:
    function = {"name": call["name"], "arguments": json.dumps(call["args"])}
    return {"id": call["id"], "type": "function", "function": function}


def chat_stream(text: str, calls: List[Dict[str, Any]]) -> Iterator[str]:
    def chunk(delta: Dict[str, Any], reason: Any = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return event({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})

    yield chunk({"role": "assistant", "content": ""})
    for word in text.split(" ") if text else []:
        yield chunk({"content": f"{word} "})
    for index, call in enumerate(calls):
        whole = chat_call(call)
        arguments = whole["function"]["arguments"]
        yield chunk({"tool_calls": [{**whole, "index": index, "function": {"name": call["name"], "arguments": ""}}]})
        for start in range(0, len(arguments), 7):
            piece = {"index": index, "function": {"arguments": arguments[start : start + 7]}}
            yield chunk({"tool_calls": [piece]})
    yield chunk({}, "tool_calls" if calls else "stop")
    yield event("[DONE]")


# Messages


def messages(text: str, calls: List[Dict[str, Any]]) -> Dict[str, Any]:
    blocks: List[Dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    blocks += [{"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["args"]} for call in calls]
    reason = "tool_use" if calls else "end_turn"
    head = {"id": "m1", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None}
    return {**head, "content": blocks, "stop_reason": reason, "usage": {"input_tokens": 1, "output_tokens": 1}}


def messages_stream(text: str, calls: List[Dict[str, Any]]) -> Iterator[str]:
    whole = messages(text, calls)
    yield event({"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}, "message_start")
    for index, block in enumerate(whole["content"]):
        empty = {**block, "input": {}} if block["type"] == "tool_use" else {**block, "text": ""}
        yield event({"type": "content_block_start", "index": index, "content_block": empty}, "content_block_start")
        said = json.dumps(block["input"]) if block["type"] == "tool_use" else block["text"]
        for start in range(0, len(said), 7):
            piece = said[start : start + 7]
            delta = (
                {"type": "input_json_delta", "partial_json": piece}
                if block["type"] == "tool_use"
                else {"type": "text_delta", "text": piece}
            )
            yield event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
        yield event({"type": "content_block_stop", "index": index}, "content_block_stop")
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}}, "message_delta")
    yield event({"type": "message_stop"}, "message_stop")


# Responses


def responses(text: str, calls: List[Dict[str, Any]]) -> Dict[str, Any]:
    said = {"type": "output_text", "text": text, "annotations": []}
    output: List[Dict[str, Any]] = (
        [{"type": "message", "id": "o0", "role": "assistant", "status": "completed", "content": [said]}] if text else []
    )
    for call in calls:
        function = {"call_id": call["id"], "name": call["name"], "arguments": json.dumps(call["args"])}
        output.append({"type": "function_call", "id": f"f{call['id']}", "status": "completed", **function})
    head = {"id": "r1", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {**head, **rest, "output": output}


def responses_stream(text: str, calls: List[Dict[str, Any]]) -> Iterator[str]:
    numbers = itertools.count()
    whole = responses(text, calls)

    def told(kind: str, **data: Any) -> str:
        return event({"type": kind, "sequence_number": next(numbers), **data}, kind)

    yield told("response.created", response={**whole, "output": [], "status": "in_progress"})
    for index, item in enumerate(whole["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            begun: Dict[str, Any] = {**item, "content": [], "status": "in_progress"}
            part = {"type": "output_text", "text": "", "annotations": []}
            yield told("response.output_item.added", output_index=index, item=begun)
            yield told("response.content_part.added", **place, content_index=0, part=part)
            for start in range(0, len(text), 7):
                delta = text[start : start + 7]
                yield told("response.output_text.delta", **place, content_index=0, delta=delta, logprobs=[])
            yield told("response.output_text.done", **place, content_index=0, text=text, logprobs=[])
            yield told("response.content_part.done", **place, content_index=0, part={**part, "text": text})
        else:
            begun = {**item, "arguments": "", "status": "in_progress"}
            yield told("response.output_item.added", output_index=index, item=begun)
            arguments = item["arguments"]
            for start in range(0, len(arguments), 7):
                delta = arguments[start : start + 7]
                yield told("response.function_call_arguments.delta", **place, delta=delta)
            yield told("response.function_call_arguments.done", **place, name=item["name"], arguments=arguments)
        yield told("response.output_item.done", output_index=index, item=item)
    yield told("response.completed", response=whole)


SHAPES: Dict[str, Any] = {
    "completions": (chat, chat_stream),
    "messages": (messages, messages_stream),
    "responses": (responses, responses_stream),
}
