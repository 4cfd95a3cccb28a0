"""Guards: every step of an agent is decided before it takes effect.

:meth:`Guard.call` is the basis: it decides on a tool call, runs it if it is allowed, rewritten if necessary, and then
decides on the result in the same way. The decorator and all adapters for frameworks are a few lines over it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import json
import secrets
import warnings
import weakref
from contextvars import ContextVar
from os import PathLike
from typing import (
    Any,
    Awaitable,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Tuple,
    Type,
    TypeVar,
    Union,
    cast,
    overload,
)

from . import _lictor
from .clients import wrap
from .decisions import Decision
from .errors import Denied, EventError, LogError, PolicyError, StateError, ToolError
from .findings import Finding
from .report import Event, PolicyLike
from .values import is_same, read_value, without_hidden
from .verdicts import Action

F = TypeVar("F", bound=Callable[..., Any])
Approver = Callable[[Decision], bool]
Watcher = Callable[[Decision], None]


class Content(NamedTuple):
    """How to read and write the results of a framework."""

    #: Returns the content of a result.
    read: Callable[[Any], Any]
    #: Returns the result with other content.
    write: Callable[[Any, Any], Any]
    #: Whether a result means that the tool failed.
    failed: Callable[[Any], bool] = lambda _: False
    #: Exceptions with which a framework interrupts a tool to resume it later: no result, and no failure.
    pauses: Tuple[Type[BaseException], ...] = ()


#: For results that are their own content.
WHOLE = Content(lambda result: result, without_hidden)

_numbers = itertools.count(1)


class Guard:
    """Decides on every step of any number of sessions by a policy.

    >>> import lictor
    >>> guard = lictor.Guard(lictor.Policy.parse('''
    ... lictor: 1
    ... name: shop
    ... properties:
    ...   - id: refunds-are-approved
    ...     says: A refund is approved first.
    ...     formula: always (tool_call("refund") implies once approval)
    ...     respond: block
    ... '''))
    >>> @guard.tool
    ... def refund(order: str) -> str:
    ...     return f"refunded {order}"
    >>> try:
    ...     refund("A1")
    ... except lictor.Denied as denied:
    ...     print(denied.decision.objections[0].property)
    refunds-are-approved
    >>> guard.decide({"kind": "approval"}).action
    <Action.FORWARD: 'forward'>
    >>> refund("A1")
    'refunded A1'

    A call that needs approval (`ask`) is passed to `approve`, a function of the decision: only `True` allows the call.
    Without `approve`, :class:`Denied` is raised and the call is pending for `patience` seconds. :meth:`approve` and
    :meth:`deny` settle it; after an approval, make the same call again, and it runs once. `on_decision` is called with every
    decision other than forward.

    With `log`, the path of a folder, every decision is recorded in a ledger there before it takes effect, as with
    `lictor guard --log`: if a decision cannot be recorded, the step does not happen. `lictor verify LOG --key KEY`
    verifies the ledger with `log_key`. It holds commitments to the content, or with `keep_content` the content, sealed
    until `lictor erase`. Only one process may write a log; :meth:`close` signs its end.

    :meth:`session` or the event itself sets the session of a step. Tasks inherit it, like all context variables.
    Threads do not: run `contextvars.copy_context().run(…)` in them, or name the session there. Without a name, clients
    that :meth:`wrap` returns have a session for each conversation, and all other steps belong to one session of the guard.
    """

    def __init__(
        self,
        policy: PolicyLike,
        *,
        approve: Optional[Approver] = None,
        on_decision: Optional[Watcher] = None,
        patience: float = 3600.0,
        content: bool = False,
        hold_text: bool = True,
        log: Union[str, "PathLike[str]", None] = None,
        origin: str = "lictor.local/python",
        keep_content: bool = False,
    ) -> None:
        if keep_content and log is None:
            raise StateError("there is no `log` to keep content in")
        if log is not None and not str(log):
            raise LogError("`log` is the name of a folder, and empty")
        for name, function in (("approve", approve), ("on_decision", on_decision)):
            if function is not None and not callable(function):
                raise TypeError(f"`{name}` is a function, not `{type(function).__name__}`")
        self.core = _lictor.GuardCore(policy, patience, content, log, origin, keep_content)
        # Closes the log also when the guard is garbage-collected or the interpreter exits.
        self._closing = weakref.finalize(self, self.core.close)
        #: The public key that verifies the log. Store it where a person who can change the log cannot change it.
        self.log_key: Optional[str] = self.core.log_key()
        self._approve = approve
        self._on_decision = on_decision
        #: Whether streamed text is buffered until it is complete and decided. Without it, text is forwarded at once,
        #: and the client may see text that the policy then blocks or redacts.
        self.hold_text = hold_text
        # In a log, sessions of different runs need different names.
        number = str(next(_numbers)) if log is None else secrets.token_hex(6)
        self._own = f"session-{number}"
        self._session: ContextVar[Optional[str]] = ContextVar("lictor_session", default=None)
        self._has_clients = False

    def close(self) -> None:
        """Closes the guard, which then decides nothing. If there is a log, all sessions end, and its end is signed."""
        self._closing()

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, _: object, error: Optional[BaseException], __: object) -> None:
        with _behind(error):
            self.close()

    # Sessions

    @property
    def current(self) -> str:
        """The present session: the named one, or else the guard's own."""
        return self.named or self._own

    @property
    def named(self) -> Optional[str]:
        """The session that :meth:`session` has named here; none outside of it."""
        return self._session.get()

    @contextlib.contextmanager
    def session(self, name: str) -> Iterator[str]:
        """Makes the steps within belong to this session; it may be entered again."""
        if not isinstance(name, str):
            raise TypeError(f"the name of a session is a string, not `{type(name).__name__}`")
        if not name:
            raise ValueError("the name of a session is empty, so sessions would not be told apart")
        token = self._session.set(name)
        try:
            yield name
        finally:
            self._session.reset(token)

    def finish(self, session: Optional[str] = None) -> List[Finding]:
        """Ends a session and returns its unmet obligations.

        Steps that follow under the name of the session begin a new one: earlier events do not count there, and neither do
        pending calls, approvals and objectives. An event of kind `session_end` ends nothing: what follows continues the session.
        After :meth:`close` every step raises an error.
        """
        found, refused = self.core.finish(self._place(session))
        self._tell(*refused)
        return found

    def owed(self, session: Optional[str] = None) -> List[Finding]:
        """Returns the findings if the session ended here. It may continue."""
        return self.core.owed(self._place(session))

    def _place(self, session: Optional[str]) -> str:
        """Returns the session of a step: the given one, the named one, or the guard's own."""
        place = session or self.named
        if place is None and self._has_clients:
            raise StateError(
                "the session is not named, and the clients of this guard have one for each conversation, so it is open which "
                "conversation this belongs to\nhint: write `with guard.session(name):` around it and around the requests, or "
                "pass `session=`, such as the `session` of a decision; or use another guard for it"
            )
        return place or self._own

    def tick(self) -> List[Finding]:
        """Advances time to now and returns the missed deadlines. Expired approvals are refused."""
        late, refused = self.core.tick()
        self._tell(*refused)
        return late

    # Decisions

    def decide(self, event: Event, session: Optional[str] = None) -> Decision:
        """Decides on an event before it takes effect, in the given session, that of the event, or the present one."""
        decision = self.core.decide(*self._located(event, session))
        self._tell(decision)
        return decision

    def _located(self, event: Event, session: Optional[str]) -> Tuple[Dict[str, Any], str]:
        """Returns an event and its session."""
        if not isinstance(event, Mapping):
            raise EventError(f"an event is a mapping, not `{type(event).__name__}`")
        told = event.get("session")
        if session is not None and told not in (None, session):
            raise EventError(f"the event says that its session is `{told}`, and is decided in `{session}`")
        return dict(event), self._place(session or (str(told) if told else None))

    def approve(self, id: str, *, by: Optional[str] = None, session: Optional[str] = None) -> Decision:
        """Approves the pending call with this id (`waits_as`, or the approval id of a denied call).

        The call is judged again; the new decision is in `settled`. If it is allowed, the same call (tool, arguments and
        session) runs once when it is made again, until `patience` seconds after it was first made. Raises
        :class:`StateError` if no call is pending by this id, or calls of several sessions are.
        """
        return self.decide(_answer("approval", id, by), self._waiting(id, self.core.awaiting(id), session))

    def deny(self, id: str, *, by: Optional[str] = None, session: Optional[str] = None) -> Decision:
        """Denies the pending call with this id; see :meth:`approve`. Takes the approval back if the call was approved and has
        not run since."""
        found = self.core.awaiting(id) or self.core.approved(id)
        return self.decide(_answer("denial", id, by), self._waiting(id, found, session))

    def _waiting(self, id: str, found: List[str], session: Optional[str]) -> str:
        """Returns the session of a call that is answered by this id, of those in which there is one."""
        wanted = session or self.named
        if wanted in found or (wanted is None and len(found) == 1):
            return wanted or found[0]
        if not found:
            raise StateError(f"no call waits for an answer as `{id}`: it was answered or has expired, or the id is another")
        where = ", ".join(f"`{name}`" for name in found)
        raise StateError(f"calls wait for an answer as `{id}` in other sessions: {where}\nhint: pass one of them as `session=`")

    # Objectives

    def add_objective(self, property: Union[Mapping[str, Any], str], *, session: Optional[str] = None) -> Decision:
        """Adds a property to a running session: a mapping, or YAML, as an entry of `properties` in a policy.

        It begins with the next event; earlier events do not count. Only this session has it. Raises
        :class:`PolicyError` if it cannot be added.

        >>> import lictor
        >>> guard = lictor.Guard("agent-safety")
        >>> guard.add_objective({"id": "no-mail", "formula": 'always !tool_call("mail")', "respond": "block"}).action
        <Action.FORWARD: 'forward'>
        >>> guard.decide({"kind": "tool_call", "tool": "mail"}).action
        <Action.BLOCK: 'block'>
        >>> guard.change_objective("no-mail", respond="warn").action
        <Action.FORWARD: 'forward'>
        >>> guard.decide({"kind": "tool_call", "tool": "mail"}).action
        <Action.FORWARD: 'forward'>
        """
        text = property if isinstance(property, str) else json.dumps(dict(property))
        return self._change({"add": text}, session)

    def remove_objective(self, id: str, *, session: Optional[str] = None) -> Decision:
        """Removes a property from a running session, from its next event on. Raises :class:`PolicyError` if the session
        does not have it."""
        return self._change({"remove": id}, session)

    def change_objective(
        self,
        id: str,
        *,
        respond: Optional[str] = None,
        unknown: Optional[str] = None,
        severity: Optional[str] = None,
        priority: Optional[int] = None,
        session: Optional[str] = None,
    ) -> Decision:
        """Changes what a violation of a property leads to in a running session, and its rank: objections of a higher
        `priority` come first. Raises :class:`PolicyError` if the change is not possible."""
        given = {"respond": respond, "unknown": unknown, "severity": severity, "priority": priority}
        return self._change({"change": id, **{key: value for key, value in given.items() if value is not None}}, session)

    def _change(self, change: Mapping[str, Any], session: Optional[str]) -> Decision:
        decision = self.decide({"kind": "objective", **change}, session)
        if decision.action is Action.BLOCK:
            raise PolicyError(decision.message or "the objective cannot be changed")
        return decision

    def _tell(self, *decisions: Decision) -> None:
        for decision in decisions:
            if self._on_decision is not None and decision.action is not Action.FORWARD:
                self._on_decision(decision)
            self._tell(*decision.settled)

    def admit(self, event: Event, session: Optional[str] = None) -> Dict[str, Any]:
        """Decides on an event. Returns it unchanged or rewritten, or raises :class:`Denied`.

        A call that was approved since it was denied is not decided again: it is returned with its id of then. A call with
        arguments that cannot be read is decided again each time.
        """
        given, place = self._located(event, session)
        # An approval is for the same arguments, which is not known of some that cannot be read.
        if given.get("kind") == "tool_call" and self._approve is None and not given.get("unread"):
            decided, resumed = self.core.admit(given, place)
            if decided is None:
                id, rewritten = resumed or (None, None)
                return rewritten or ({**given, "id": id} if id else given)
            decision = decided
        else:
            decision = self.core.decide(given, place)
        self._tell(decision)
        if decision.action is Action.ASK and self._approve is not None and decision.waits_as is not None:
            kind = "approval" if self._approved(self._approve, decision) else "denial"
            answer = self.decide({"kind": kind, "id": decision.waits_as}, decision.session)
            # The pending call was decided again, in the present state.
            decision = answer.settled[0] if answer.settled else decision
        if not decision.takes_effect:
            raise Denied(decision)
        return given if decision.rewritten is None else decision.rewritten

    def _approved(self, approve: Approver, decision: Decision) -> bool:
        try:
            answer = approve(decision)
            if inspect.isawaitable(answer):
                getattr(answer, "close", lambda: None)()
                message = "`approve` returned an awaitable, which is never awaited; use a plain function that returns True or False"
                raise StateError(message)
        except BaseException:
            # A call without an answer must not wait to be approved later: its caller has seen it fail.
            self.decide({"kind": "denial", "id": decision.waits_as}, decision.session)
            raise
        return answer is True

    # Tools

    def call(
        self,
        tool: str,
        args: Mapping[str, Any],
        run: Callable[..., Any],
        *,
        session: Optional[str] = None,
        id: Optional[str] = None,
        content: Content = WHOLE,
        resumes: bool = False,
    ) -> Any:
        """Decides on a tool call, runs `run(**args)` with the allowed arguments, and returns the allowed result.

        Arguments and results are judged by all that they hold: fields that a model of pydantic leaves out of its dump, files,
        arrays, decimals. An argument that cannot be read without consuming it, such as a generator, is unknown, and a warning
        names it. A result that holds one raises `TypeError`.

        The result is decided on in the same way, and redacted if necessary. All values that a tool yields are collected
        and judged before any is returned. An exception of the tool is an event too; it is raised unchanged unless the
        policy redacts it. `content` reads and writes the content of results that are more than their content. With
        `resumes`, the call was decided before it was interrupted, and `args` are the arguments that were allowed then.
        """
        call, allowed = (id or "", dict(args)) if resumes else self._begin(tool, args, session, id)
        try:
            result = _whole(tool, run(**allowed))
        except content.pauses:
            raise
        except Exception as error:
            self._failed(tool, call, error, session)
            raise
        return self._ended(tool, call, result, session, content)

    async def acall(
        self,
        tool: str,
        args: Mapping[str, Any],
        run: Callable[..., Awaitable[Any]],
        *,
        session: Optional[str] = None,
        id: Optional[str] = None,
        content: Content = WHOLE,
        resumes: bool = False,
    ) -> Any:
        """Awaits `run`; otherwise like :meth:`call`."""
        call, allowed = (id or "", dict(args)) if resumes else self._begin(tool, args, session, id)
        try:
            result = _whole(tool, await run(**allowed))
        except content.pauses:
            raise
        except Exception as error:
            self._failed(tool, call, error, session)
            raise
        return self._ended(tool, call, result, session, content)

    def _begin(
        self, tool: str, args: Mapping[str, Any], session: Optional[str], id: Optional[str]
    ) -> Tuple[str, Dict[str, Any]]:
        call = id or f"call-{next(_numbers)}"
        readings = {name: read_value(value) for name, value in args.items()}
        plain = {name: reading.value for name, reading in readings.items() if "" not in reading.unread}
        given: Dict[str, Any] = {"kind": "tool_call", "tool": tool, "id": call, "args": plain}
        unread = [f"{name}.{path}" if path else name for name, reading in readings.items() for path in reading.unread]
        if unread:
            # What is missing among the arguments is unknown.
            given.update(free_text=True, unread=unread)
            names = ", ".join(unread)
            warnings.warn(f"arguments of `{tool}` that the guard cannot read, which are unknown: {names}", stacklevel=2)
        event = self.admit(given, session)
        allowed: Dict[str, Any] = event.get("args") or {}
        # Unchanged arguments are passed as the original objects.
        kept = {
            name: args[name] if name in plain and is_same(plain[name], value) else value for name, value in allowed.items()
        }
        return event.get("id") or call, {**{name: args[name] for name in args if name not in plain}, **kept}

    def pass_on(self, tool: str, call: str, result: Any, content: Content = WHOLE, session: Optional[str] = None) -> Any:
        """Returns the allowed result of a call that the caller ran, or raises :class:`Denied`."""
        return self._ended(tool, call, _whole(tool, result), session, content)

    def _ended(self, tool: str, call: str, result: Any, session: Optional[str], content: Content) -> Any:
        if isinstance(result, _Drained):
            return iter(self._ended(tool, call, result.values, session, content))
        said, unread = read_value(content.read(result), shows=True)
        if unread:
            where = ", ".join(f"`{path}`" for path in unread if path) or "all of it"
            refused = TypeError(f"the result of `{tool}` cannot be judged ({where}): return lists and texts instead of streams")
            self._failed(tool, call, refused, session)
            raise refused
        event: Dict[str, Any] = {"kind": "tool_result", "tool": tool, "id": call}
        if content.failed(result):
            event["failed"] = True
        field = "text" if isinstance(said, str) else "result"
        event[field] = said
        allowed = self.admit(event, session).get(field)
        return result if is_same(said, allowed) else content.write(result, allowed)

    def _failed(self, tool: str, call: str, error: Exception, session: Optional[str]) -> None:
        event = {"kind": "tool_result", "tool": tool, "id": call, "failed": True, "text": _told(error)}
        with _behind(error):
            decision = self.decide(event, session)
        if not decision.takes_effect:
            raise Denied(decision) from None
        if decision.rewritten is not None:
            raise ToolError(decision.rewritten.get("text") or "The tool failed.") from None

    @overload
    def tool(self, function: F) -> F: ...

    @overload
    def tool(self, *, name: Optional[str] = None) -> Callable[[F], F]: ...

    def tool(self, function: Optional[F] = None, *, name: Optional[str] = None) -> Union[F, Callable[[F], F]]:
        """Makes every call of a tool be decided first: `@guard.tool` or `@guard.tool(name="send_mail")`.

        A denied call raises :class:`Denied`, and the function is not entered. Works for `async def` too.
        """
        if function is None:
            return lambda function: self._guarded(function, name)
        return self._guarded(function, name)

    def _guarded(self, function: F, name: Optional[str]) -> F:
        signature = inspect.signature(function)
        tool = name or getattr(function, "__name__", None)
        if not tool:
            raise TypeError("the guarded function has no name; give it one: `guard.tool(name=…)`")
        if inspect.isasyncgenfunction(function):
            raise TypeError(f"`{tool}` is an async generator, whose result cannot be judged as a whole; return a list instead")

        owners = _owners(function, signature)

        def bound(args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Tuple[Dict[str, Any], Callable[..., Any]]:
            given = signature.bind(*args, **kwargs)
            given.apply_defaults()
            named = _named(signature, given)
            # `self` or `cls` is not an argument of the call.
            owner = {name: named.pop(name) for name in owners}
            return named, lambda **allowed: function(**owner, **_flat(signature, allowed))

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def waiting(*args: Any, **kwargs: Any) -> Any:
                named, run = bound(args, kwargs)
                return await self.acall(tool, named, run)

            return cast(F, waiting)

        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            named, run = bound(args, kwargs)
            return self.call(tool, named, run)

        return cast(F, guarded)

    # Clients of models

    def wrap(self, client: Any) -> Any:
        """Returns a client of `openai` or `anthropic` with this guard between it and the model; sync or async.

        Write `client = guard.wrap(openai.OpenAI())` and use the client as before. Each conversation is a session, unless
        :meth:`session` names one. A conversation is known by an id in its metadata, by the response that it continues, or by
        the first message of the user.
        """
        guarded = wrap(client, self)
        self._has_clients = True
        return guarded


def _answer(kind: str, id: str, by: Optional[str]) -> Dict[str, Any]:
    """Returns the event of a person's answer to a pending call."""
    event: Dict[str, Any] = {"kind": kind, "id": id}
    return event if by is None else {**event, "by": by}


class _Drained:
    """All values that a tool yielded."""

    def __init__(self, values: List[Any]) -> None:
        self.values = values


def _whole(tool: str, result: Any) -> Any:
    """Returns a result in full. Drains iterators and refuses awaitables: later values would pass unjudged."""
    if inspect.isawaitable(result) or hasattr(result, "__anext__"):
        getattr(result, "close", lambda: None)()
        raise TypeError(f"`{tool}` returned an awaitable, which cannot be judged; make it an `async def` that awaits it")
    return _Drained(list(result)) if isinstance(result, Iterator) and not hasattr(result, "read") else result


@contextlib.contextmanager
def _behind(error: Optional[BaseException]) -> Iterator[None]:
    """Chains a log error that occurs while an exception is handled to that exception."""
    try:
        yield
    except LogError as unwritten:
        raise unwritten from error


def _owners(function: Callable[..., Any], signature: inspect.Signature) -> List[str]:
    """Returns the parameter `self` or `cls` of a method, if there is one."""
    inside, _, _ = getattr(function, "__qualname__", "").rpartition(".")
    first = next(iter(signature.parameters.values()), None)
    is_method = bool(inside) and not inside.endswith("<locals>")
    is_owner = first is not None and first.name in ("self", "cls") and first.kind is first.POSITIONAL_OR_KEYWORD
    return [first.name] if first is not None and is_method and is_owner else []


def _named(signature: inspect.Signature, given: inspect.BoundArguments) -> Dict[str, Any]:
    """Returns the arguments by name, including those of `**kwargs`."""
    named: Dict[str, Any] = {}
    for name, value in given.arguments.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            named.update(value)
        else:
            named[name] = value
    return named


def _flat(signature: inspect.Signature, named: Dict[str, Any]) -> Dict[str, Any]:
    for parameter in signature.parameters.values():
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.POSITIONAL_ONLY):
            message = f"the tool takes `{parameter.name}` by its place; a guarded tool takes its arguments by name"
            raise TypeError(message)
    return named


def _told(error: BaseException) -> str:
    """Returns the messages of an exception, including those within a group."""
    inner = getattr(error, "exceptions", ())
    return "\n".join([str(error), *(_told(one) for one in inner if isinstance(one, BaseException))])


def with_defaults(args: Mapping[str, Any], schema: Any) -> Dict[str, Any]:
    """Returns the arguments with the defaults of a schema: the tool is called with those too, so they are judged."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    members = (properties or {}).items()
    given = {name: member["default"] for name, member in members if isinstance(member, Mapping) and "default" in member}
    return {**given, **args}
