"""Guards with a log: a step without a record does not happen, and the log verifies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Dict, List, Optional

import anthropic
import openai
import pytest
from scripted_model import scripted_model

from lictor import Denied, Guard, LogError, Policy, StateError, audit

SHOP = Path(__file__).resolve().parent.parent / "examples" / "shop.yaml"
CALL = {"kind": "tool_call", "tool": "look_up"}
ASK: List[Any] = [{"role": "user", "content": "Where is it?"}]
#: A process with a limited file size, with a guard in it.
LIMITED = """
import resource, sys, lictor
guard = lictor.Guard(sys.argv[1], log=sys.argv[2])
entered = []
@guard.tool
def look_up(order):
    entered.append(order)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
for number in range(1000):
    try:
        look_up(order=str(number))
    except lictor.LogError as error:
        print(number, len(entered), type(error).__name__)
        break
"""


def verified(log: Path, key: Optional[str] = None) -> List[Dict[str, Any]]:
    """Returns the bodies of the records of a log, which must verify."""
    lines = [line for file in sorted((log / "records").iterdir()) for line in file.read_text().splitlines()]
    records = [json.loads(line) for line in lines]
    run = [sys.executable, "-m", "lictor", "verify", str(log), "--key", key or records[0]["notice"]["key"]]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [record["body"] for record in records if "body" in record]


def test_log_holds_every_decision_and_verifies(shop: Policy, tmp_path: Path) -> None:
    with Guard(shop, log=tmp_path / "log") as guard:
        assert guard.call("look_up", {"order": "A1"}, lambda order: order) == "A1"
        with pytest.raises(Denied):
            guard.call("refund", {"order": "A1"}, lambda order: order)
        guard.finish()
    records = verified(tmp_path / "log", guard.log_key)
    assert [(record["type"], record.get("action"), record.get("tool")) for record in records] == [
        ("decision", "forward", "look_up"),
        ("decision", "forward", "look_up"),
        ("decision", "block", "refund"),
        ("ended", None, None),
    ]
    assert {record["policy"] for record in records} == {shop.fingerprint}
    with pytest.raises(LogError, match="is closed"):
        guard.decide(CALL)


def test_log_continues_with_next_guard(shop: Policy, tmp_path: Path) -> None:
    for _ in range(3):
        with Guard(shop, log=tmp_path / "log") as guard, guard.session("the same"):
            # A call with the same id is a new call.
            assert guard.call("look_up", {"order": "A1"}, lambda order: order, id="call-1") == "A1"
            assert guard.call("look_up", {"order": "A1"}, lambda order: order, id="call-1") == "A1"
    assert len(verified(tmp_path / "log")) == 15


def test_log_holds_no_plain_content(shop: Policy, tmp_path: Path) -> None:
    for keep_content in (False, True):
        log = tmp_path / str(keep_content)
        with Guard(shop, log=log, keep_content=keep_content) as guard:
            guard.call("look_up", {"order": "teapot"}, lambda order: order)
        verified(log)
        whole = b"".join(file.read_bytes() for file in log.rglob("*") if file.is_file())
        assert b"teapot" not in whole and (b'"sealed"' in whole) == keep_content
    with pytest.raises(StateError, match="no `log`"):
        Guard(shop, keep_content=True)


def test_unwritten_decision_stops_the_call(tmp_path: Path) -> None:
    run = [sys.executable, "-c", LIMITED, str(SHOP), str(tmp_path / "log"), "20000"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    number, entered, error = done.stdout.split()
    assert error == "LogError" and 0 < int(number) < 1000
    # A call without a record was not entered; a result without a record was not returned.
    assert int(entered) in (int(number), int(number) + 1)
    records = [record for record in verified(tmp_path / "log") if record.get("kind") == "tool_call"]
    assert len(records) >= int(entered)


def test_log_has_one_writer(shop: Policy, tmp_path: Path) -> None:
    with Guard(shop, log=tmp_path / "log"):
        with pytest.raises(LogError):
            Guard(shop, log=tmp_path / "log")
    Guard(shop, log=tmp_path / "log").close()


def test_log_at_a_file_is_refused(shop: Policy, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("something else")
    with pytest.raises(LogError):
        Guard(shop, log=tmp_path / "log")


def test_forked_process_decides_nothing(shop: Policy, tmp_path: Path) -> None:
    guard = Guard(shop, log=tmp_path / "log")
    child = os.fork()
    if child == 0:
        try:
            guard.decide(CALL)
            os._exit(1)
        except LogError as error:
            guard.close()
            os._exit(0 if "forking" in str(error) else 2)
    _, status = os.waitpid(child, 0)
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
    assert guard.decide(CALL).takes_effect
    guard.close()
    assert [record["type"] for record in verified(tmp_path / "log")] == ["decision", "ended"]


def test_fork_during_decisions_does_not_hang(shop: Policy, tmp_path: Path) -> None:
    guard = Guard(shop, log=tmp_path / "log")
    is_over = threading.Event()

    def keep_deciding() -> None:
        while not is_over.is_set():
            guard.decide(CALL)

    threads = [threading.Thread(target=keep_deciding) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        child = os.fork()
        if child == 0:
            try:
                guard.decide(CALL)
            except LogError:
                guard.close()
                os._exit(0)
            os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0
    is_over.set()
    for thread in threads:
        thread.join()
    guard.close()
    verified(tmp_path / "log")


def test_closing_guard_ends_sessions_with_findings(tmp_path: Path) -> None:
    policy = Policy.parse("""
lictor: 1
name: duties
properties: [{id: answered, formula: 'always (user_message implies eventually assistant_message)'}]
""")
    for _ in range(2):
        with Guard(policy, log=tmp_path / "log") as guard:
            guard.decide({"kind": "user_message", "text": "hi"})
    assert [record["type"] for record in verified(tmp_path / "log")] == ["decision", "ended", "late"] * 2


def test_unclosed_log_is_closed_at_exit(tmp_path: Path) -> None:
    script = f"import lictor, sys; guard = lictor.Guard(sys.argv[1], log=sys.argv[2]); guard.decide({CALL!r})"
    subprocess.run([sys.executable, "-c", script, str(SHOP), str(tmp_path / "log")], check=True)
    assert len(verified(tmp_path / "log")) == 2
    assert (tmp_path / "log" / "checkpoint").read_text().splitlines()[1] == "3", "all records are signed for"


def test_audit_reads_a_ledger(shop: Policy, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Guard(shop, log=log, keep_content=True) as guard, guard.session("clerk"):
        guard.call("look_up", {"order": "A1"}, lambda order: order)
        guard.decide({"kind": "approval"})
        guard.call("refund", {"order": "A1"}, lambda order: order)
    approved = audit(log, shop)
    assert approved.is_compliant and approved.totals["events"] == 5
    never = Policy.parse("{lictor: 1, name: never, properties: [{id: no-refunds, formula: 'always !tool_call(\"refund\")'}]}")
    theirs = subprocess.run(
        [sys.executable, "-m", "lictor", "audit", "-q", "-f", "json", "-p", str(SHOP), str(log)], capture_output=True, check=False
    )
    assert json.loads(theirs.stdout)["totals"] == approved.totals
    for source in (log, str(log), [log]):
        assert audit(source, never).violations == ["no-refunds"]
    # Events of a ledger can be joined to a log, too.
    later = {"kind": "tool_call", "tool": "x", "session": "clerk", "time": "2100-01-01T00:00:00Z"}
    (tmp_path / "calls.jsonl").write_text(json.dumps(later) + "\n")
    assert audit(tmp_path / "calls.jsonl", shop, join=log).totals["joined"] > 0


def test_threads_write_one_log(shop: Policy, tmp_path: Path) -> None:
    with Guard(shop, log=tmp_path / "log") as guard:

        def steps(name: str) -> None:
            with guard.session(name):
                for _ in range(20):
                    guard.decide(CALL)

        threads = [threading.Thread(target=steps, args=(f"s{number}",)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(verified(tmp_path / "log")) == 168


def test_unwritten_request_raises_the_vendor_error(shop: Policy, tmp_path: Path) -> None:
    with scripted_model(["Never asked for."]) as model:
        guard = Guard(shop, log=tmp_path / "log")
        chat = guard.wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1", max_retries=0))
        messages = guard.wrap(anthropic.Anthropic(api_key="x", base_url=model.url, max_retries=0))
        guard.close()
        with pytest.raises(openai.InternalServerError, match="closed"):
            chat.chat.completions.create(model="m", messages=ASK)
        with pytest.raises(anthropic.InternalServerError, match="closed"):
            messages.messages.create(model="m", max_tokens=9, messages=ASK)
        assert model.requests == []


@pytest.mark.parametrize("streams", [False, True])
def test_unwritten_reply_is_withheld(shop: Policy, tmp_path: Path, streams: bool) -> None:
    secret = "nobody may read this"
    with scripted_model([secret]) as model:
        guard = Guard(shop, log=tmp_path / "log")
        client = guard.wrap(openai.OpenAI(api_key="x", base_url=f"{model.url}/v1", max_retries=0))
        answer = model.next
        # The log is closed before the model replies.
        model.next = lambda request: (guard.close(), answer(request))[1]  # type: ignore[method-assign, func-returns-value]
        said: List[str] = []
        with pytest.raises(openai.APIError) as error:
            got = client.chat.completions.create(model="m", messages=ASK, stream=streams)
            for piece in got if streams else ():
                said += [choice.delta.content or "" for choice in piece.choices]
        assert "closed" in str(error.value) and "nobody" not in "".join(said)
    assert [record.get("kind") for record in verified(tmp_path / "log")] == ["user_message", None]


def test_guard_without_log_can_be_closed(shop: Policy) -> None:
    with Guard(shop) as guard:
        assert guard.decide(CALL).takes_effect
    with pytest.raises(LogError, match="closed"):
        guard.decide(CALL)
