"""Tables as logs: rows of Arrow, Parquet and data frames are judged like lines of JSON."""

from __future__ import annotations

import datetime
import decimal
import json
import sys
from pathlib import Path
from typing import Any, Dict, List

import pandas
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

from lictor import AuditError, EventError, Policy, audit

#: Properties that show which calls, arguments and times were read.
SHOP = Policy.parse("""
lictor: 1
name: shop
properties:
  - id: refunds-are-approved
    says: A refund is approved first.
    formula: always (tool_call("refund") implies once approval)
  - id: refunds-are-small
    says: A refund is under 100.
    formula: always not big_refund
  - id: refunds-are-soon
    says: A refund happens within a minute of the request.
    formula: always (tool_call("refund") implies once[0s,60s] user_message)
facts:
  big_refund: {on: tool_call(refund), when: args.amount >= 100}
""")


def call(name: str, arguments: Dict[str, Any]) -> Dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


#: Two conversations whose messages and arguments have different members, so that Arrow fills the others with nulls.
CHATS: List[Dict[str, Any]] = [
    {
        "chat": "a",
        "source": "web",
        "score": 0.5,
        "messages": [
            {"role": "user", "content": "Where is my order?"},
            {"role": "assistant", "content": None, "tool_calls": [call("look_up", {"order": "A1"})]},
            {"role": "tool", "content": '{"name": "refund"}', "tool_call_id": "c1"},
            {"role": "assistant", "content": "On its way."},
        ],
    },
    {
        "chat": "b",
        "source": "web",
        "score": None,
        "messages": [
            {"role": "user", "content": "Give me my money."},
            {"role": "assistant", "content": "", "tool_calls": [call("refund", {"amount": 250})]},
        ],
    },
]


def check_chats(source: Any) -> None:
    """Checks that a source is read as the two conversations."""
    report = audit(source, SHOP, session_key="chat")
    assert [session["name"] for session in report.sessions] == ["a", "b"]
    assert report.totals["events"] == 6 and report.faults == []
    assert report.violations == ["refunds-are-approved", "refunds-are-small"]
    assert {(finding.session, finding.file, finding.line) for finding in report.findings} == {
        ("b", report.to_dict()["files"][0]["name"], 2)
    }


def test_arrow_messages_are_read_as_json_lines(tmp_path: Path) -> None:
    table = pyarrow.Table.from_pylist(CHATS)
    first = table.column("messages").to_pylist()[0][1]
    assert first["tool_calls"][0]["function"]["arguments"] == {"order": "A1", "amount": None}, "filled with nulls"
    check_chats(table)
    check_chats(table.to_batches()[0])
    check_chats(pyarrow.RecordBatchReader.from_batches(table.schema, table.to_batches()))
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(chat) + "\n" for chat in CHATS))
    lines, rows = (audit(source, SHOP, session_key="chat") for source in (tmp_path / "log.jsonl", table))
    assert [session["outcomes"] for session in lines.sessions] == [session["outcomes"] for session in rows.sessions]


def test_parquet_and_arrow_files_are_read(tmp_path: Path) -> None:
    table = pyarrow.Table.from_pylist(CHATS)
    pyarrow.parquet.write_table(table, tmp_path / "log.parquet", row_group_size=1)
    pyarrow.parquet.write_table(table, tmp_path / "without-ending", compression="zstd")
    pyarrow.feather.write_feather(table, tmp_path / "log.feather")
    with pyarrow.ipc.new_stream(str(tmp_path / "log.arrow"), table.schema) as stream:
        stream.write_table(table)
    for name in ["log.parquet", "without-ending", "log.feather", "log.arrow", "*.parquet"]:
        check_chats(str(tmp_path / name))
        check_chats([tmp_path / name])


def test_parquet_joins_other_logs_of_one_audit(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(CHATS), tmp_path / "log.parquet")
    (tmp_path / "other.jsonl").write_text('{"kind": "tool_call", "tool": "refund"}\n')
    report = audit([tmp_path / "log.parquet", tmp_path / "other.jsonl"], SHOP)
    assert [file["format"] for file in report.to_dict()["files"]] == ["native", "openai-chat"]
    assert report.totals["sessions"] == 3


def test_data_frame_is_read_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pandas.DataFrame(CHATS).to_parquet(tmp_path / "log.parquet")
    read_back = pandas.read_parquet(tmp_path / "log.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    check_chats(pandas.DataFrame(CHATS))
    check_chats(read_back)
    check_chats(read_back.set_index("chat", drop=False))
    with pytest.raises(AuditError, match=r"log.parquet: reading it needs pyarrow\nhint: pip install pyarrow"):
        audit(tmp_path / "log.parquet", SHOP)


def test_messages_as_json_text_are_parsed() -> None:
    rows = [{**chat, "messages": json.dumps(chat["messages"])} for chat in CHATS]
    check_chats(pyarrow.Table.from_pylist(rows))
    check_chats(pandas.DataFrame(rows))


def test_json_text_of_user_stays_text() -> None:
    block = json.dumps([{"type": "tool_use", "id": "1", "name": "refund", "input": {}}])
    rows = [{"role": "user", "content": block}, {"role": "assistant", "content": "no"}]
    report = audit(pyarrow.Table.from_pylist(rows), SHOP)
    assert report.violations == [] and report.totals["events"] == 2
    # A database keeps the blocks of an agent as text.
    rows[1]["content"] = block
    assert "refunds-are-approved" in audit(pyarrow.Table.from_pylist(rows), SHOP).violations
    # The type of a column may say that it holds JSON.
    marked = pyarrow.array([block, block], pyarrow.string())
    marked = pyarrow.ExtensionArray.from_storage(pyarrow.json_(), marked)
    table = pyarrow.table({"role": [row["role"] for row in rows], "content": marked})
    assert "refunds-are-approved" in audit(table, SHOP).violations


def test_message_rows_are_divided_by_session_id() -> None:
    rows = [
        {"session_id": "a", "role": "user", "content": "Hello", "tool_calls": None},
        {"session_id": "b", "role": "user", "content": "Money!", "tool_calls": None},
        {"session_id": "b", "role": "assistant", "content": None, "tool_calls": [call("refund", {"amount": 5})]},
        {"session_id": "a", "role": "assistant", "content": "Hi", "tool_calls": None},
    ]
    report = audit(pyarrow.Table.from_pylist(rows), SHOP)
    assert {session["name"]: session["steps"] for session in report.sessions} == {"a": 2, "b": 2}
    assert [(finding.session, finding.line) for finding in report.findings] == [("b", 3)]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_with_a_zone_are_kept(unit: str) -> None:
    start = datetime.datetime(2026, 5, 1, 10, tzinfo=datetime.timezone.utc)
    for seconds, violations in [(60, []), (61, ["refunds-are-soon"])]:
        times = [start, start, start + datetime.timedelta(seconds=seconds)]
        zone = pyarrow.timestamp(unit, tz="Europe/Rome")
        events = {
            "session": ["s", "s", "s"],
            "time": pyarrow.array(times, pyarrow.timestamp("us", tz="UTC")).cast(zone),
            "kind": pyarrow.array(["user_message", "approval", "tool_call"]).dictionary_encode(),
            "tool": [None, None, "refund"],
            "args": [None, None, {"amount": decimal.Decimal("99.50")}],
        }
        table = pyarrow.table(events)
        assert audit(table, SHOP).violations == violations
        assert audit(table.to_pandas(), SHOP).violations == violations


def test_time_without_a_zone_is_a_fault() -> None:
    times = [datetime.datetime(2026, 5, 1, 10)]
    with pytest.raises(AuditError, match="table:1: .*2026-05-01T10:00:00"):
        audit(pyarrow.table({"kind": ["approval"], "time": times}), SHOP)


def test_maps_and_bytes_of_arrow_are_read() -> None:
    arguments = pyarrow.array([[("amount", 250)]], pyarrow.map_(pyarrow.string(), pyarrow.int64()))
    table = pyarrow.table({"kind": [b"tool_call"], "tool": [b"refund"], "args": arguments})
    assert "refunds-are-small" in audit(table, SHOP).violations


def test_unreadable_tables_are_refused(tmp_path: Path) -> None:
    (tmp_path / "log.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(AuditError, match="log.parquet: cannot be read as a table"):
        audit(tmp_path / "log.parquet", SHOP)
    with pytest.raises(AuditError, match="no file matches|no such file"):
        audit(str(tmp_path / "none" / "*.parquet"), SHOP)
    infinite = pyarrow.table({"kind": ["tool_call"] * 2, "tool": ["a"] * 2, "args": [{"x": 1.0}, {"x": float("inf")}]})
    with pytest.raises(EventError, match="table:2: `args.x`"):
        audit(infinite, SHOP)
    with pytest.raises(AuditError, match="no events"):
        audit(pyarrow.table({"kind": pyarrow.array([], pyarrow.string())}), SHOP)
