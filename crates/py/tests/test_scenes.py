"""The scenes of `lictor-exchange` with a guarded transport: the files that the gateway and the native driver play."""

from __future__ import annotations

import asyncio
import importlib
import json
import threading
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional

import openai
import pytest
from conftest import ROOT

from lictor import Guard, Policy
from lictor.clients import transports

SCENES = sorted((ROOT / "crates" / "exchange" / "scenes").glob("*.json"))
MODULES = [base.__module__.split(".")[0] for base in type(openai.OpenAI(api_key="x")._client).__mro__]
http = importlib.import_module(next(name for name in MODULES if name.startswith("httpx")))


def compact(value: Any) -> str:
    """Returns JSON without blanks, as the other drivers of the scenes write it."""
    return json.dumps(value, separators=(",", ":"))


class Network:
    """A model that plays a turn of a scene."""

    def __init__(self) -> None:
        self.turn: Dict[str, Any] = {}
        self.upstream: Optional[str] = None
        self.again: List[str] = []

    def handle_request(self, request: Any) -> Any:
        if self.upstream is not None:
            return self.ask_again(request.read().decode())
        self.upstream = request.read().decode()
        if "stream" in self.turn:
            stream = Pieces(self.turn["stream"], self.turn.get("cut", False))
            return http.Response(200, headers={"content-type": "text/event-stream"}, stream=stream)
        return http.Response(200, headers={"content-type": "application/json"}, content=compact(self.turn["reply"]))


    def ask_again(self, body: str) -> Any:
        replies = self.turn.get("again", [])
        if len(self.again) == len(replies):
            return http.Response(500, content=b"{}")
        self.again.append(body)
        if "stream" in self.turn:
            stream = Pieces(replies[len(self.again) - 1], False)
            return http.Response(200, headers={"content-type": "text/event-stream"}, stream=stream)
        reply = compact(replies[len(self.again) - 1])
        return http.Response(200, headers={"content-type": "application/json"}, content=reply)


class Pieces(http.SyncByteStream):  # type: ignore[name-defined,misc]
    def __init__(self, pieces: List[str], is_cut: bool) -> None:
        self.pieces, self.is_cut = pieces, is_cut

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            yield piece.encode()
        if self.is_cut:
            raise http.ReadError("cut")


def play(guarded: Any, network: Network, turn: Dict[str, Any]) -> Any:
    network.turn, network.upstream, network.again = turn, None, []
    body = json.dumps(turn["request"]).encode()
    response = guarded.handle_request(http.Request("POST", f"http://model{turn['path']}", content=body))
    pieces: List[bytes] = []
    try:
        for place, piece in enumerate(response.stream):
            if place == turn.get("leave_after"):
                break
            pieces.append(piece)
    except http.ReadError:
        assert turn.get("cut")
    response.stream.close()
    return response.status_code, b"".join(pieces).decode()


@pytest.mark.parametrize("hold_text", [True, False])
@pytest.mark.parametrize("file", SCENES, ids=lambda file: str(file.stem))
def test_scene_plays_with_python_transport(file: Path, hold_text: bool) -> None:
    scene = json.loads(file.read_text())
    policy = "\n".join(scene["policy"]).replace("$FILES", str(file.parent / "files"))
    guard = Guard(Policy.parse(policy), hold_text=hold_text)
    network = Network()
    guarded = transports(http)[0](guard, network)
    for number, turn in enumerate(scene["turns"]):
        # A scene is one session, however its turns begin.
        with guard.session("scene"):
            status, client = play(guarded, network, turn)
        upstream, seen = network.upstream, f"turn {number}: {status}\n{network.upstream}\n{client}"
        assert status == turn.get("status", 200), seen
        assert turn.get("code", "") in client, seen
        if "upstream" in turn:
            assert upstream == (turn["upstream"] and json.dumps(turn["request"])), seen
        if turn.get("client") == "same":
            assert client == ("".join(turn["stream"]) if "stream" in turn else compact(turn["reply"])), seen
        assert len(network.again) == len(turn.get("again", [])), seen
        for side, said in (("upstream", upstream or ""), ("again", "\n".join(network.again)), ("client", client)):
            assert all(part in said for part in turn.get(f"{side}_contains", [])), seen
            assert not any(part in said for part in turn.get(f"{side}_lacks", [])), seen
        if "then" in turn:
            id = client.split("Approval id: ")[1].split(". Make")[0]
            answered = guard.approve(id, by="ann") if turn["then"] == "approve" else guard.deny(id, by="ann")
            assert len(answered.settled) == 1, seen


class AsyncNetwork:
    """A model that plays a turn of a scene, and counts how many requests it has at once."""

    def __init__(self, turn: Dict[str, Any]) -> None:
        self.replies = [turn["reply"], *turn["again"]]
        self.asked = self.at_once = self.most_at_once = 0

    async def handle_async_request(self, request: Any) -> Any:
        self.asked += 1
        self.at_once += 1
        reply = self.replies[self.asked - 1]
        for _ in range(3):
            self.most_at_once = max(self.most_at_once, self.at_once)
            await asyncio.sleep(0)
        self.at_once -= 1
        return http.Response(200, headers={"content-type": "application/json"}, content=compact(reply))


def test_plans_are_asked_at_once_by_asyncio() -> None:
    scene = json.loads((ROOT / "crates" / "exchange" / "scenes" / "sampled-low-risk-keeps-reply.json").read_text())
    turn = scene["turns"][0]
    guard = Guard(Policy.parse("\n".join(scene["policy"])))
    network = AsyncNetwork(turn)
    guarded = transports(http)[1](guard, network)
    request = http.Request("POST", f"http://model{turn['path']}", content=json.dumps(turn["request"]).encode())
    response = asyncio.run(guarded.handle_async_request(request))
    assert (network.asked, network.most_at_once) == (1 + len(turn["again"]), 8)
    assert json.loads(response.content) == turn["reply"]


@pytest.mark.parametrize("failure", ["unreachable", "cut"])
def test_held_stream_survives_failing_candidates(failure: str) -> None:
    class FailingNetwork(Network):
        def ask_again(self, body: str) -> Any:
            self.again.append(body)
            if failure == "unreachable":
                raise http.ConnectError("unreachable")
            stream = Pieces(self.turn["again"][0][:2], True)
            return http.Response(200, headers={"content-type": "text/event-stream"}, stream=stream)

    file = ROOT / "crates" / "exchange" / "scenes" / "forecast-held-chat-stream.json"
    scene = json.loads(file.read_text())
    policy = "\n".join(scene["policy"]).replace("$FILES", str(file.parent / "files"))
    network = FailingNetwork()
    guarded = transports(http)[0](Guard(Policy.parse(policy.replace("candidates: 1", "candidates: 2"))), network)
    status, client = play(guarded, network, scene["turns"][0])
    assert (status, len(network.again)) == (200, 2)
    assert client == "".join(scene["turns"][0]["stream"])


def with_time_limit() -> Any:
    """Returns a scene in which two replies are asked for one by one, within a moment, and its policy."""
    file = ROOT / "crates" / "exchange" / "scenes" / "forecast-resampled-chat.json"
    scene = json.loads(file.read_text())
    policy = "\n".join(scene["policy"]).replace("$FILES", str(file.parent / "files"))
    return scene["turns"][0], Policy.parse(policy.replace("candidates: 2", "candidates: 2, time: 100ms"))


@pytest.mark.parametrize("stalls", ["head", "body"])
def test_candidate_is_not_waited_for_beyond_time(stalls: str) -> None:
    never = threading.Event()

    class StallingNetwork(Network):
        def ask_again(self, body: str) -> Any:
            self.again.append(body)
            timeout = [one for one in timeouts.pop().values() if one is not None]
            assert len(timeout) == 4 and max(timeout) <= 0.1, "no operation of the network outlasts the limit"
            if stalls == "head":
                never.wait()
            return http.Response(200, headers={"content-type": "application/json"}, stream=StallingPieces([], False))

        def handle_request(self, request: Any) -> Any:
            timeouts.append(request.extensions.get("timeout", {}))
            return super().handle_request(request)

    class StallingPieces(Pieces):
        def __iter__(self) -> Iterator[bytes]:
            yield b"{"
            never.wait()

    timeouts: List[Dict[str, Optional[float]]] = []
    (turn, policy), network = with_time_limit(), StallingNetwork()
    status, client = play(transports(http)[0](Guard(policy), network), network, turn)
    never.set()
    assert (status, client, len(network.again)) == (200, compact(turn["reply"]), 1)


def test_candidates_are_canceled_beyond_time() -> None:
    canceled: List[bool] = []

    class StallingNetwork(AsyncNetwork):
        async def handle_async_request(self, request: Any) -> Any:
            if self.asked == 0:
                return await super().handle_async_request(request)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                canceled.append(True)
                raise

    turn, policy = with_time_limit()
    guarded = transports(http)[1](Guard(policy), StallingNetwork(turn))
    request = http.Request("POST", f"http://model{turn['path']}", content=json.dumps(turn["request"]).encode())
    response = asyncio.run(guarded.handle_async_request(request))
    assert json.loads(response.content) == turn["reply"] and canceled == [True, True]
