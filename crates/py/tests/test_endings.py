"""What is recorded of sessions that end, and of calls that a vendor makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List

import pytest
from test_scenes import http

from lictor import Denied, Guard, LogError, Policy, StateError
from lictor.clients import transports

SHOP = """
lictor: 1
name: shop
properties:
  - {id: approved, formula: 'always (tool_call("refund") implies once approval)', respond: block}
  - {id: ask-delete, formula: 'always !tool_call("delete")', respond: ask}
"""


@pytest.mark.parametrize("writes", [False, True])
def test_finished_session_begins_anew(tmp_path: Path, writes: bool) -> None:
    guard = Guard(Policy.parse(SHOP), log=tmp_path / "log" if writes else None)
    guard.decide({"kind": "approval"})
    guard.add_objective({"id": "no-mail", "formula": 'always !tool_call("mail")', "respond": "block"})
    with pytest.raises(Denied) as denied:
        guard.call("delete", {}, lambda: "done")
    guard.approve(denied.value.decision.waits_as or "")
    guard.decide({"kind": "session_end"})
    # The session lasts until it is finished.
    assert guard.call("refund", {}, lambda: "paid") == "paid"
    guard.finish()
    assert guard.finish() == [] and guard.owed() == []
    with pytest.raises(Denied):
        guard.call("refund", {}, lambda: "paid")
    with pytest.raises(Denied):
        guard.call("delete", {}, lambda: "done")
    assert guard.call("mail", {}, lambda: "sent") == "sent"
    guard.close()
    with pytest.raises((LogError, StateError), match="closed"):
        guard.call("mail", {}, lambda: "sent")
    if writes:
        types = [body["type"] for body in bodies(tmp_path / "log")]
        assert types.count("ended") == 2 and types[types.index("ended") + 1] == "decision"


def bodies(log: Path) -> List[Dict[str, Any]]:
    lines = (line for file in sorted((log / "records").iterdir()) for line in file.read_text().splitlines())
    return [record["body"] for record in map(json.loads, lines) if "body" in record]


#: Replies with a call that the vendor has made: the path, the tools of the request, and the content.
VENDOR: Dict[str, Any] = {
    "/v1/responses": (
        {"input": "Who?", "tools": [{"type": "web_search"}]},
        {
            "object": "response",
            "status": "completed",
            "output": [
                {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "ann"}},
                {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": []},
            ],
        },
        ["tool_call"],
    ),
    "/v1/messages": (
        {
            "max_tokens": 9,
            "messages": [{"role": "user", "content": "Who?"}],
            "tools": [{"type": "web_search_20250305", "name": "web_search"}],
        },
        {
            "type": "message",
            "role": "assistant",
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
            "content": [
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "ann"}},
                {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
            ],
        },
        ["tool_call", "tool_result"],
    ),
}


@pytest.mark.parametrize("path", VENDOR)
def test_calls_of_vendor_tools_have_records(tmp_path: Path, path: str) -> None:
    request, reply, kinds = VENDOR[path]

    class Network:
        def handle_request(self, _: Any) -> Any:
            content = json.dumps({"id": "r", "model": "m", **reply})
            return http.Response(200, headers={"content-type": "application/json"}, content=content)

    with Guard(Policy.parse(SHOP), log=tmp_path / "log") as guard:
        body = json.dumps({"model": "m", **request}).encode()
        asked = http.Request("POST", f"http://model{path}", content=body)
        assert transports(http)[0](guard, Network()).handle_request(asked).status_code == 200
    found = [body["kind"] for body in bodies(tmp_path / "log") if body.get("tool") == "web_search"]
    assert found == kinds
