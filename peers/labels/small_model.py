"""Serves a small model for the command: llama.cpp behind a proxy that can answer control questions for it.

A labeler asks two control questions in each request, and counts no answer of a request with a wrong one. A model of 135
million parameters has them wrong nearly always. The proxy corrects only these, so that its other answers can be counted.
"""

from __future__ import annotations

import http.server
import json
import re
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path
from typing import Any, Optional

SERVER = Path(__file__).parents[2] / "crates/gateway/tests/serve/clients/small_model.py"
STATEMENT = re.compile(r'^"([^"]+)": (.*)$', re.MULTILINE)
WORD = re.compile(r'^the word "(.*)" occurs in the text$')
NUMBERS = re.compile(r"^the number (\d+) is greater than the number (\d+)$")


class SmallModel:
    """A running model. It ends with the `with` block."""

    def __enter__(self) -> SmallModel:
        command = [sys.executable, "-B", str(SERVER)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        address = next((line.strip() for line in self.process.stdout if line.startswith("http")), None)
        if address is None:
            raise SystemExit("the model does not start")
        self.url = f"{address}/v1"
        handler = type("Handler", (Proxy,), {"target": self.url})
        self.proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.proxy.serve_forever, daemon=True).start()
        self.corrected_url = f"http://127.0.0.1:{self.proxy.server_port}/v1"
        return self

    def __exit__(self, *_: Any) -> None:
        self.proxy.shutdown()
        self.process.kill()
        self.process.wait()


class Proxy(http.server.BaseHTTPRequestHandler):
    """Forwards requests, and corrects the answers to control questions."""

    target = ""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        url = self.target + self.path.split("/v1", 1)[1]
        request = urllib.request.Request(url, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=600) as response:
            reply = correct_controls(json.loads(body), json.load(response))
        text = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


def correct_controls(request: Any, reply: Any) -> Any:
    """Returns the reply with true answers to its control questions."""
    user = request["messages"][1]["content"]
    if "The statements:\n" not in user:
        return reply
    mark = user.split("The character ", 1)[1][0]
    block = user.split("\n<text-", 1)[1].split("\n", 1)[1].split("\n</text-", 1)[0]
    words = block.replace(mark, " ").split()
    message = reply["choices"][0]["message"]
    try:
        answers = json.loads(message["content"])
    except ValueError:
        return reply
    for key, statement in STATEMENT.findall(user.split("The statements:\n", 1)[1].split("\n<", 1)[0]):
        truth = find_control_truth(statement, words)
        if truth is not None:
            answers[key] = "yes" if truth else "no"
    message["content"] = json.dumps(answers)
    return reply


def find_control_truth(statement: str, words: list) -> Optional[bool]:
    """Returns the truth of a control question; none for other statements."""
    word, numbers = WORD.match(statement), NUMBERS.match(statement)
    if word:
        return word.group(1) in words
    return int(numbers.group(1)) > int(numbers.group(2)) if numbers else None
