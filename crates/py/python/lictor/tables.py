"""Tables as logs: a row is a record, and its columns are the members of the record.

Reads tables and batches of pyarrow, data frames, and files in Parquet, Feather and Arrow. Only files and objects of
Arrow need pyarrow; a data frame of pandas is read without it.
"""

from __future__ import annotations

import base64
import datetime
import decimal
import glob
import json
import os
import sys
import uuid
from typing import Any, Dict, Iterator, List, Optional

from .errors import AuditError

#: The endings of files that hold a table.
TABLE_ENDINGS = (".parquet", ".pq", ".arrow", ".feather", ".ipc")

#: The first bytes of files that hold a table.
TABLE_MAGIC = (b"PAR1", b"ARROW1")

#: Columns of text that may hold JSON. Formats never read plain text from these members, so a person's words cannot
#: become messages or calls.
JSON_COLUMNS = frozenset(
    "attributes body categories choices conversation events facts functions function_call inputs messages metadata "
    "outputs parts purposes request response spans steps subjects tool_calls tools trajectory".split()
)

#: Members that mean a call without arguments if all of their own members are missing.
ARGUMENT_MEMBERS = frozenset(["args", "arguments", "input"])

#: How many rows of a table are converted at a time.
ROWS_AT_A_TIME = 1024


def is_table(source: Any) -> bool:
    """Returns whether a source is a table, a batch of one, or a data frame."""
    return _is_data_frame(source) or hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")


def table_files(path: str) -> Optional[List[str]]:
    """Returns the files with tables that a path names; none if it names something else."""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            start = file.read(8)
        return [path] if start.startswith(TABLE_MAGIC) or path.lower().endswith(TABLE_ENDINGS) else None
    if path.lower().endswith(TABLE_ENDINGS) and glob.has_magic(path) and not os.path.isdir(path):
        return sorted(glob.glob(path, recursive=True)) or None
    return None


def records_of_table(table: Any) -> Iterator[Dict[str, Any]]:
    """Returns the rows of a table, a batch or a data frame as records."""
    if _is_data_frame(table):
        rows = (table.iloc[first : first + ROWS_AT_A_TIME] for first in range(0, len(table), ROWS_AT_A_TIME))
        return (_record(row, ()) for some in rows for row in some.to_dict("records"))
    pyarrow = _import_pyarrow("an Arrow table")
    if hasattr(table, "__arrow_c_stream__"):
        return _records_of_batches(pyarrow, pyarrow.RecordBatchReader.from_stream(table))
    return _records_of_batches(pyarrow, [pyarrow.record_batch(table)])


def records_of_file(path: str) -> Iterator[Dict[str, Any]]:
    """Returns the rows of a file as records."""
    pyarrow = _import_pyarrow(path)
    with open(path, "rb") as file:
        start = file.read(8)
    try:
        if start.startswith(b"PAR1"):
            with pyarrow.parquet.ParquetFile(path) as opened:
                yield from _records_of_batches(pyarrow, opened.iter_batches(ROWS_AT_A_TIME))
        elif start.startswith(b"ARROW1"):
            with pyarrow.ipc.open_file(path) as reader:
                batches = (reader.get_batch(place) for place in range(reader.num_record_batches))
                yield from _records_of_batches(pyarrow, batches)
        else:
            with pyarrow.OSFile(path, "rb") as opened, pyarrow.ipc.open_stream(opened) as reader:
                yield from _records_of_batches(pyarrow, reader)
    except (pyarrow.ArrowException, OSError) as error:
        raise AuditError(f"{path}: cannot be read as a table: {error}") from error


def _is_data_frame(source: Any) -> bool:
    """Returns whether a source is a data frame of pandas, which is not imported for that."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(source, getattr(pandas, "DataFrame", ()))


def _import_pyarrow(what: str) -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise AuditError(f"{what}: reading it needs pyarrow\nhint: pip install pyarrow") from error
    return pyarrow


def _records_of_batches(pyarrow: Any, batches: Any) -> Iterator[Dict[str, Any]]:
    for batch in batches:
        wanted = pyarrow.schema([field.with_type(_plain_type(pyarrow, field.type)) for field in batch.schema])
        marked = tuple(field.name for field in batch.schema if _is_json(field.type))
        for first in range(0, batch.num_rows, ROWS_AT_A_TIME):
            rows = pyarrow.Table.from_batches([batch.slice(first, ROWS_AT_A_TIME)])
            # Times lose what is below a microsecond, which Python's own times cannot hold.
            for row in rows.cast(wanted, safe=False).to_pylist():
                yield _record(row, marked)


def _is_json(kind: Any) -> bool:
    return getattr(kind, "extension_name", None) == "arrow.json"


def _plain_type(pyarrow: Any, kind: Any) -> Any:
    """Returns the type to read values of a type as: times in UTC that Python can hold, texts instead of extensions."""
    types = pyarrow.types
    if isinstance(kind, pyarrow.BaseExtensionType):
        return _plain_type(pyarrow, kind.storage_type)
    if types.is_timestamp(kind):
        return pyarrow.timestamp("us", tz=None if kind.tz is None else "UTC")
    if types.is_time64(kind):
        return pyarrow.time64("us")
    if types.is_duration(kind):
        return pyarrow.duration("us")
    if types.is_dictionary(kind):
        return _plain_type(pyarrow, kind.value_type)
    if types.is_struct(kind):
        fields = [kind.field(place) for place in range(kind.num_fields)]
        return pyarrow.struct([field.with_type(_plain_type(pyarrow, field.type)) for field in fields])
    if types.is_fixed_size_list(kind) or types.is_large_list(kind):
        return pyarrow.large_list(kind.value_field.with_type(_plain_type(pyarrow, kind.value_type)))
    if types.is_list(kind):
        return pyarrow.list_(kind.value_field.with_type(_plain_type(pyarrow, kind.value_type)))
    return kind


def _record(row: Dict[Any, Any], marked: Any) -> Dict[str, Any]:
    """Returns a row as a record, without the columns that have no value in it."""
    record: Dict[str, Any] = {}
    for column, value in row.items():
        name = str(column)
        # Data frames keep the numbers of their rows in such a column.
        if name.startswith("__index_level_"):
            continue
        if isinstance(value, str) and (name in JSON_COLUMNS or name in marked):
            value = _parse_json(value, name in marked)
        _put(record, name, value)
    return record


def _parse_json(text: str, is_marked: bool) -> Any:
    """Returns a list or an object that a text holds; any value if the type of the column says that it is JSON."""
    if not is_marked and not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _put(members: Dict[str, Any], name: str, value: Any) -> None:
    """Adds a member, unless it has no value.

    Tables give all rows the same members, and fill those that a row does not have with nulls. An object of nulls alone
    is missing too, except where it means a call without arguments.
    """
    plain = _plain(value)
    is_filled = plain == {} and bool(value) and name not in ARGUMENT_MEMBERS
    if plain is not None and not is_filled:
        members[name] = plain


def _plain(value: Any) -> Any:
    """Returns a value as JSON has it; none if it is missing. What JSON cannot express is returned as it is."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, dict):
        members: Dict[str, Any] = {}
        for name, member in value.items():
            _put(members, str(name), member)
        return members
    if isinstance(value, (list, tuple)):
        # Arrow writes a map as pairs.
        if value and all(isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) for item in value):
            return _plain(dict(value))
        return [_plain(item) for item in value]
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return base64.b64encode(value).decode("ascii")
    if type(value).__module__.partition(".")[0] == "numpy":
        return _plain(value.tolist())
    return _plain_moment(value)


def _plain_moment(value: Any) -> Any:
    """Returns a time, a number or an id as JSON has it."""
    if type(value).__name__ in ("NAType", "NaTType") or isinstance(value, float) and value != value:
        return None
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.timezone.utc).isoformat()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    return value
