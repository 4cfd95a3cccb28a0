"""Reports of audits: as objects, as a dict, as JSON, as a page in a notebook."""

from __future__ import annotations

import html
import json
import os
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _lictor
from ._lictor import Policy
from .findings import Finding
from .tables import is_table, records_of_file, records_of_table, table_files
from .verdicts import Verdict

PolicyLike = Union[Policy, str, "os.PathLike[str]"]
Event = Mapping[str, Any]


class Report:
    """The report of an audit; made by :func:`audit`."""

    def __init__(self, native: _lictor.NativeReport) -> None:
        self._native = native
        self._data: Optional[Dict[str, Any]] = None

    def to_json(self) -> str:
        """Returns the report as one JSON document, like `lictor audit --format json`."""
        return self._native.render("json")

    def to_dict(self) -> Dict[str, Any]:
        """Returns the JSON document as a dict."""
        if self._data is None:
            self._data = json.loads(self.to_json())
        return self._data

    def render(self, format: str) -> str:
        """Returns the report as `text`, `markdown`, `html`, `sarif`, `junit`, `json` or `jsonl`."""
        return self._native.render(format)

    @property
    def verdict(self) -> Optional[Verdict]:
        """The worst verdict of any session; none if there was nothing to judge.

        It is inconclusive instead of satisfied if a record could not be read: such a record may break anything.
        """
        verdict = self.to_dict()["verdict"]
        if verdict is None:
            return None
        return Verdict.INCONCLUSIVE if verdict == Verdict.SATISFIED and self.faults else Verdict(verdict)

    @property
    def findings(self) -> List[Finding]:
        """The findings, in the order of the sessions, then of their events."""
        return [Finding.from_dict(finding) for finding in self.to_dict()["findings"]]

    @property
    def violations(self) -> List[str]:
        """The names of the properties with findings that are not suppressed, each once."""
        broken = (finding.property for finding in self.findings if finding.suppressed is None)
        return list(dict.fromkeys(broken))

    @property
    def sessions(self) -> List[Dict[str, Any]]:
        """The sessions, with their verdict for each property."""
        return list(self.to_dict()["sessions"])

    @property
    def faults(self) -> List[Dict[str, Any]]:
        """The records that could not be read."""
        return list(self.to_dict()["faults"])

    @property
    def totals(self) -> Dict[str, Any]:
        """The numbers of files, sessions, events, findings and faults."""
        return dict(self.to_dict()["totals"])

    @property
    def is_compliant(self) -> bool:
        """Whether all records were read and all findings are suppressed.

        Like the exit code 0 of `lictor audit`, this does not ask whether everything was decided: see
        :attr:`is_conclusive`.
        """
        return not self.violations and not self.faults

    @property
    def is_conclusive(self) -> bool:
        """Whether all records were read and nothing is :attr:`undecided`."""
        return not self.undecided and not self.faults

    @property
    def undecided(self) -> List[str]:
        """What is undecided, a sentence each: properties that are inconclusive, with the reason, and missing events.

        >>> limit = Policy.parse('''
        ... lictor: 1
        ... name: shop
        ... facts: {large: {on: tool_call(refund), when: args.amount > 100}}
        ... properties: [{id: no-large-refund, formula: always !large}]
        ... ''')
        >>> report = audit([{"kind": "tool_call", "tool": "refund", "args": {"amount": "900 EUR"}}], limit)
        >>> report.is_compliant, report.is_conclusive
        (True, False)
        >>> print(*report.undecided)
        no-large-refund is inconclusive in 1 session, first in trace:1, since `large` is unknown
        """
        return self._native.undecided()

    @property
    def is_exercised(self) -> bool:
        """Whether the policy was put to the test: something occurs that could violate a property.

        If nothing does, a compliant report says little: a tool may have another name in the policy.
        """
        return self._native.is_exercised()

    def __len__(self) -> int:
        return len(self._native)

    def __str__(self) -> str:
        return self.render("text")

    def __repr__(self) -> str:
        totals = self.totals
        parts = [f"{totals['findings']} findings in {totals['sessions']} sessions"]
        parts += [f"{len(self.undecided)} undecided"] if self.undecided else []
        parts += [] if self.is_exercised else ["not put to the test"]
        parts += [f"{totals['faults']} places not read"] if self.faults else []
        return f"<Report {self.verdict}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        """Returns the whole page in a frame, for notebooks, so that the styles do not mix."""
        page = html.escape(self.render("html"), quote=True)
        return f'<iframe srcdoc="{page}" sandbox="" style="width:100%;height:32em;border:0"></iframe>'


def audit(
    source: Any,
    policy: PolicyLike,
    *,
    format: Optional[str] = None,
    threads: Optional[int] = None,
    content: bool = False,
    as_of: Any = None,
    baseline: Optional[Report] = None,
    session_key: Optional[str] = None,
    join: Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]] = (),
) -> Report:
    """Judges whole logs by a policy, on all cores, without the GIL.

    The source is a path (a file, a folder, the folder of a ledger, a glob), several paths, the events of one trace, several such traces, or a
    table. Events are dicts in any of the formats that `lictor audit` reads. A table is a table or a batch of pyarrow, a
    data frame, or the path of a Parquet or Arrow file: each row is such a dict. The policy is a :class:`Policy`, a file, or packs by their
    names. Findings of the report `baseline` are left out. Deadlines are evaluated as of the time `as_of`: seconds, an
    RFC 3339 text, or a datetime. `session_key` is the member by which records name their session, such as
    `metadata.chat`, if it is none of the usual ones. `join` is a path, or several, of files with events of other systems,
    such as approvals and consents; each is judged in the sessions that it belongs to.

    >>> report = audit([{"kind": "tool_call", "tool": "refund"}], Policy.parse('''
    ... lictor: 1
    ... name: shop
    ... properties:
    ...   - id: refunds-are-approved
    ...     says: A refund is approved first.
    ...     formula: always (tool_call("refund") implies once approval)
    ... '''))
    >>> report.verdict
    <Verdict.VIOLATED: 'violated'>
    >>> report.violations
    ['refunds-are-approved']
    """
    known = [finding.fingerprint for finding in baseline.findings] if baseline is not None else []
    wanted = {
        "format": format,
        "threads": threads,
        "content": content,
        "as_of": as_of,
        "baseline": known,
        "session_key": session_key,
        "join": [os.fspath(path) for path in ([join] if isinstance(join, (str, os.PathLike)) else join)],
    }
    paths, traces = _sources(source)
    return Report(_lictor.audit_logs(paths, traces, policy, wanted))


def _sources(source: Any) -> Tuple[List[str], List[Tuple[str, Iterable[Any]]]]:
    """Returns paths, and traces with their names."""
    if isinstance(source, (str, os.PathLike)):
        return _split_tables([os.fspath(source)])
    if isinstance(source, Mapping):
        raise TypeError("a single event is no trace; write [event]")
    if is_table(source):
        return [], [("table", records_of_table(source))]
    items = list(source)
    if items and all(isinstance(item, (str, os.PathLike)) for item in items):
        return _split_tables([os.fspath(item) for item in items])
    if items and all(is_table(item) for item in items):
        return [], [(f"table-{number}", records_of_table(table)) for number, table in enumerate(items, 1)]
    if items and not any(isinstance(item, Mapping) for item in items):
        return [], [(f"trace-{number}", list(trace)) for number, trace in enumerate(items, 1)]
    return [], [("trace", items)]


def _split_tables(paths: Sequence[str]) -> Tuple[List[str], List[Tuple[str, Iterable[Any]]]]:
    """Returns the paths of logs, and the rows of the files that are tables."""
    logs: List[str] = []
    traces: List[Tuple[str, Iterable[Any]]] = []
    for path in paths:
        files = table_files(path)
        if files is None:
            logs.append(path)
        else:
            traces.extend((file, records_of_file(file)) for file in files)
    return logs, traces
