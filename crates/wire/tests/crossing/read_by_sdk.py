"""Reads replies with the vendors' own libraries and says what they understood.

Standard input holds a list of cases: {"api", "stream", "status", "body"}. Each body is served on loopback, asked for
through the library, and answered by a line of JSON: {"text", "calls", "stop", "usage"} or {"error"}.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import anthropic
import openai


class Upstream(BaseHTTPRequestHandler):
    """Answers every request with the body of the current case."""

    case = {}

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length", 0)))
        body = self.case["body"].encode()
        self.send_response(self.case.get("status", 200))
        kind = "text/event-stream" if self.case["stream"] and self.case.get("status", 200) == 200 else "application/json"
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def chat(client, stream):
    asked = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
    if stream:
        with client.chat.completions.stream(**asked) as events:
            for _ in events:
                pass
            reply = events.get_final_completion()
    else:
        reply = client.chat.completions.create(**asked)
    choice = reply.choices[0]
    calls = [[call.id, call.function.name, call.function.arguments] for call in choice.message.tool_calls or []]
    usage = reply.usage and reply.usage.completion_tokens
    return {"text": [choice.message.content or ""], "calls": calls, "stop": choice.finish_reason, "usage": usage}


def responses(client, stream):
    asked = {"model": "m", "input": "hello"}
    if stream:
        with client.responses.stream(**asked) as events:
            # What was put together from pieces must be what the last event says.
            pieces = ""
            for event in events:
                if event.type == "response.output_text.delta":
                    pieces += event.delta
                # An error within a stream of responses is an event like others.
                if event.type == "error":
                    return {"error": [event.message, event.code]}
            reply = events.get_final_response()
        assert pieces == reply.output_text, (pieces, reply.output_text)
    else:
        reply = client.responses.create(**asked)
    text = [part.text for item in reply.output if item.type == "message" for part in item.content]
    calls = [[item.call_id, item.name, item.arguments] for item in reply.output if item.type == "function_call"]
    return {"text": text, "calls": calls, "stop": reply.status, "usage": reply.usage and reply.usage.output_tokens}


def messages(client, stream):
    asked = {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": "hello"}]}
    if stream:
        with client.messages.stream(**asked) as events:
            for _ in events:
                pass
            reply = events.get_final_message()
    else:
        reply = client.messages.create(**asked)
    text = [block.text for block in reply.content if block.type == "text"]
    calls = [[block.id, block.name, json.dumps(block.input)] for block in reply.content if block.type == "tool_use"]
    return {"text": text, "calls": calls, "stop": reply.stop_reason, "usage": reply.usage.output_tokens}


def main():
    server = HTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    of_openai = openai.OpenAI(api_key="none", base_url=f"{address}/v1", max_retries=0)
    of_anthropic = anthropic.Anthropic(api_key="none", base_url=address, max_retries=0)
    readers = {
        "openai-chat": (chat, of_openai),
        "openai-responses": (responses, of_openai),
        "anthropic": (messages, of_anthropic),
    }
    for case in json.load(sys.stdin):
        Upstream.case = case
        read, client = readers[case["api"]]
        try:
            understood = read(client, case["stream"])
        except (openai.APIError, anthropic.APIError) as error:
            understood = {"error": [type(error).__name__, str(error.message), str(getattr(error, "body", None))]}
        print(json.dumps(understood), flush=True)


main()
