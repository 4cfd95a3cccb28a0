"""Clients of model APIs with a guard between them and the network.

A guarded HTTP transport decides on each request before it is sent and on each reply before the client sees it. Streams
are decided piece by piece: a tool call is held until it is complete and decided. The transport works alike for
synchronous and asynchronous clients and for all their helper methods.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import importlib
import string
import threading
import time
from typing import Any, AsyncIterator, Callable, Dict, Iterator, List, Optional, Protocol, Sequence, Tuple
from urllib.parse import quote

from . import _lictor
from .decisions import Decision
from .errors import StateError

#: Headers that no longer fit a changed body.
_BODY = {"content-length", "content-encoding", "transfer-encoding"}

#: The header that tells a client the session of a reply.
SESSION_HEADER = "x-lictor-session-name"

#: The characters of such a name that are sent as they are.
_SAFE = string.digits + string.ascii_letters + string.punctuation.replace("%", "") + " "

#: The timeouts of an HTTP request.
_TIMEOUTS = ("connect", "read", "write", "pool")

#: How many requests of one exchange are in flight at once.
_PARALLEL = 8


class ClientGuard(Protocol):
    """The part of a guard that its clients use; :class:`lictor.Guard` has it."""

    #: Decides on requests and replies.
    core: _lictor.GuardCore
    #: Whether streamed text is held until it is whole and decided.
    hold_text: bool

    @property
    def named(self) -> Optional[str]:
        """The session that the caller has named; none if the conversation tells it."""
        ...

    @property
    def current(self) -> str:
        """The session that steps belong to now; sessions of conversations are named after it."""
        ...

    def _tell(self, *decisions: Decision) -> None:
        """Reports decisions to the `on_decision` of the guard."""
        ...


def wrap(client: Any, guard: ClientGuard) -> Any:
    """Returns a copy of the client that uses the guard. Settings such as keys, retries and timeouts are kept."""
    inner = getattr(client, "_client", None)
    if _http_library(inner) is None or not hasattr(client, "with_options"):
        raise TypeError(f"a client of openai or anthropic is wanted, not `{type(client).__name__}`")
    guarded = _guard_copies(client.with_options(http_client=_guarded_http(inner, guard)), guard)
    # WebSockets bypass the transport: their address is invalid, also in copies of the client.
    if hasattr(guarded, "websocket_base_url"):
        guarded.websocket_base_url = "wss://sockets-pass-by-the-guard.invalid"
    for names in (("realtime",), ("responses",), ("beta", "realtime"), ("beta", "responses")):
        resource = functools.reduce(lambda place, name: getattr(place, name, None), names, guarded)
        if hasattr(resource, "connect"):
            resource.connect = _no_sockets
    return guarded


def _guard_copies(client: Any, guard: ClientGuard) -> Any:
    """Makes copies of a guarded client use the guard too, also with an HTTP client of their own. Returns the client."""
    plain = client.with_options

    @functools.wraps(plain)
    def copied(**options: Any) -> Any:
        if options.get("http_client") is not None:
            options["http_client"] = _guarded_http(options["http_client"], guard)
        return _guard_copies(plain(**options), guard)

    for name in ("copy", "with_options"):
        if hasattr(client, name):
            setattr(client, name, copied)
    return client


def _guarded_http(inner: Any, guard: ClientGuard) -> Any:
    """Returns an HTTP client with the settings of another one, whose requests and replies the guard decides on."""
    library = _http_library(inner)
    if library is None:
        raise TypeError(f"an HTTP client of httpx is wanted, not `{type(inner).__name__}`")
    http = importlib.import_module(library)
    is_async = isinstance(inner, http.AsyncClient)
    transport = transports(http)[is_async]
    if isinstance(getattr(inner, "_transport", None), transport) and inner._transport.guard is guard:
        return inner
    # Proxies and certificates are settings of the client's own transports, which the guarded ones call.
    options = {name: getattr(inner, name) for name in ("auth", "cookies", "event_hooks", "headers", "timeout")}
    mounts = {
        pattern.pattern: None if mounted is None else transport(guard, mounted)
        for pattern, mounted in getattr(inner, "_mounts", {}).items()
    }
    return (http.AsyncClient if is_async else http.Client)(
        transport=transport(guard, getattr(inner, "_transport", None)), mounts=mounts, follow_redirects=True, **options
    )


def _http_library(inner: Any) -> Optional[str]:
    """Returns the name of the library of an HTTP client; none if it is no such client."""
    return next((base.__module__.split(".")[0] for base in type(inner).__mro__ if _is_http(base)), None)


def _no_sockets(*_: Any, **__: Any) -> Any:
    raise StateError("what goes over a WebSocket passes by the guard, so a guarded client opens none; use requests and streams")


def _is_http(base: type) -> bool:
    return base.__module__.split(".")[0].startswith("httpx") and base.__name__ in ("Client", "AsyncClient")


@functools.lru_cache(maxsize=None)
def transports(http: Any) -> Tuple[Any, Any]:
    """Returns the guarded transports, sync and async, for `httpx` or a library with the same interface."""

    class Guarded(http.BaseTransport):  # type: ignore[misc]
        def __init__(self, guard: ClientGuard, network: Any = None) -> None:
            self.guard, self.network = guard, network or http.HTTPTransport()

        def handle_request(self, request: Any) -> Any:
            passage = Passage(self.guard, request)
            if passage.is_harmless:
                return self.network.handle_request(request)
            answer = passage.ask(request.read())
            if answer is not None:
                return _made(http, request, passage, *answer)
            response = self.network.handle_request(_changed(http, request, passage.body))
            if _redirects(response):
                response.close()
                return _made(http, request, passage, *passage.redirected())
            if not response.is_success:
                return response
            if _streams(response):
                def again() -> Any:
                    return self.network.handle_request(_changed(http, request, passage.body))

                return _streamed(http, request, passage, response, Pieces(passage, response, again))
            answer = passage.reply(_read(response))
            while answer is None:
                if passage.bodies is not None:
                    deadline = Deadline(passage.seconds)
                    asked = [functools.partial(self.ask, request, body, deadline) for body in passage.bodies]
                    answer = passage.replies([_within(deadline, ask) for ask in asked], deadline.elapsed())
                    continue
                again = self.network.handle_request(_changed(http, request, passage.body))
                body = _read(again)
                response = again if _is_reply(again) else response
                answer = passage.reply(body if _is_reply(again) else None)
            status, body = answer
            return _made(http, request, passage, status, body, like=response)

        def ask(self, request: Any, body: bytes, deadline: Deadline) -> Optional[bytes]:
            try:
                response = self.network.handle_request(_hastened(_changed(http, request, body), deadline))
                reply = _read(response)
            except http.HTTPError:
                return None
            return reply if _is_reply(response) else None

        def close(self) -> None:
            self.network.close()

    class AsyncGuarded(http.AsyncBaseTransport):  # type: ignore[misc]
        def __init__(self, guard: ClientGuard, network: Any = None) -> None:
            self.guard, self.network = guard, network or http.AsyncHTTPTransport()

        async def handle_async_request(self, request: Any) -> Any:
            passage = Passage(self.guard, request)
            if passage.is_harmless:
                return await self.network.handle_async_request(request)
            answer = passage.ask(await request.aread())
            if answer is not None:
                return _made(http, request, passage, *answer)
            response = await self.network.handle_async_request(_changed(http, request, passage.body))
            if _redirects(response):
                await response.aclose()
                return _made(http, request, passage, *passage.redirected())
            if not response.is_success:
                return response
            if _streams(response):
                async def again_async() -> Any:
                    return await self.network.handle_async_request(_changed(http, request, passage.body))

                return _streamed(http, request, passage, response, AsyncPieces(passage, response, again_async))
            answer = passage.reply(await _aread(response))
            while answer is None:
                if passage.bodies is not None:
                    deadline = Deadline(passage.seconds)
                    asked = [functools.partial(self.ask, request, body, deadline) for body in passage.bodies]
                    answer = passage.replies(await _ask_together(asked, deadline), deadline.elapsed())
                    continue
                again = await self.network.handle_async_request(_changed(http, request, passage.body))
                body = await _aread(again)
                response = again if _is_reply(again) else response
                answer = passage.reply(body if _is_reply(again) else None)
            status, body = answer
            return _made(http, request, passage, status, body, like=response)

        async def ask(self, request: Any, body: bytes, deadline: Deadline) -> Optional[bytes]:
            try:
                response = await self.network.handle_async_request(_hastened(_changed(http, request, body), deadline))
                reply = await _aread(response)
            except http.HTTPError:
                return None
            return reply if _is_reply(response) else None

        async def aclose(self) -> None:
            await self.network.aclose()

    class Pieces(http.SyncByteStream):  # type: ignore[misc]
        def __init__(self, passage: Passage, response: Any, again: Callable[[], Any]) -> None:
            self.passage, self.response, self.again = passage, response, again

        def __iter__(self) -> Iterator[bytes]:
            while True:
                broken: Optional[Exception] = None
                try:
                    for piece in self.response.iter_bytes():
                        yield self.passage.push(piece)
                except http.HTTPError as error:
                    broken = error
                yield self.passage.push(None) if broken is None else self.passage.cut()
                while True:
                    if not self.passage.is_asked_again():
                        if broken is None or self.passage.is_complete():
                            return
                        raise broken
                    if self.reopen():
                        break
                    yield self.passage.no_stream()

        def reopen(self) -> bool:
            """Asks the model again. Returns whether it answers with a stream."""
            self.response.close()
            try:
                self.response = self.again()
            except http.HTTPError:
                return False
            return _is_stream(self.response)

        def close(self) -> None:
            self.passage.leave()
            self.response.close()

    class AsyncPieces(http.AsyncByteStream):  # type: ignore[misc]
        def __init__(self, passage: Passage, response: Any, again: Callable[[], Any]) -> None:
            self.passage, self.response, self.again = passage, response, again

        async def __aiter__(self) -> AsyncIterator[bytes]:
            while True:
                broken: Optional[Exception] = None
                try:
                    async for piece in self.response.aiter_bytes():
                        yield self.passage.push(piece)
                except http.HTTPError as error:
                    broken = error
                yield self.passage.push(None) if broken is None else self.passage.cut()
                while True:
                    if not self.passage.is_asked_again():
                        if broken is None or self.passage.is_complete():
                            return
                        raise broken
                    if await self.reopen():
                        break
                    yield self.passage.no_stream()

        async def reopen(self) -> bool:
            """Asks the model again. Returns whether it answers with a stream."""
            await self.response.aclose()
            try:
                self.response = await self.again()
            except http.HTTPError:
                return False
            return _is_stream(self.response)

        async def aclose(self) -> None:
            self.passage.leave()
            await self.response.aclose()

    return Guarded, AsyncGuarded


class Passage:
    """One request and its reply, decided by a guard."""

    def __init__(self, guard: ClientGuard, request: Any) -> None:
        self.guard = guard
        path = str(request.url.path)
        self.exchange = _lictor.Exchange(guard.core, guard.named, guard.current, request.method, path, guard.hold_text)
        self.is_harmless = self.exchange.is_harmless
        self.where = f"{request.method} {path}"
        self.body = b""
        self.bodies: Optional[List[bytes]] = None
        #: How long to wait for the replies to all of `bodies`; None is no limit.
        self.seconds: Optional[float] = None

    def headers(self) -> Dict[str, str]:
        """Returns the header with the name of the session. Characters that a header cannot have are percent-encoded."""
        session = self.exchange.session
        return {} if session is None else {SESSION_HEADER: quote(session, safe=_SAFE)}

    def ask(self, body: bytes) -> Any:
        """Decides on a request. Returns None if `self.body` may be sent, else the status and the body of an error."""
        if self.exchange.is_unknown:
            message = f"{self.where} is not known to the guard, so it cannot judge it; use a client without a guard for it"
            return 403, self.exchange.error(403, "wire.unknown_route", message)
        sendable, answer, decisions = self.exchange.ask(body)
        self._tell(decisions)
        self.body = sendable or b""
        return answer

    def redirected(self) -> Any:
        """Returns the status and the body of the error for a reply that leads elsewhere, where nothing is judged."""
        message = f"{self.where} is redirected, or changes the protocol; set its final address as the base URL"
        return 502, self.exchange.error(502, "upstream.redirect", message)

    def reply(self, body: Optional[bytes]) -> Any:
        """Decides on a reply, None if there is none. Returns the status and the body for the client.

        Returns None if the model is to be asked again: all calls of the reply are denied, and `self.body` is the next
        request, or more replies are needed to choose from, and `self.bodies` are the requests for them.
        """
        return self._judged(self.exchange.reply(body))

    def replies(self, bodies: List[Optional[bytes]], seconds: float) -> Any:
        """Takes the replies to `self.bodies`, None where there is none. Returns what :meth:`reply` returns."""
        return self._judged(self.exchange.replies(bodies, seconds))

    def _judged(self, judged: Any) -> Any:
        allowed, answer, decisions, following = judged
        self._tell(decisions)
        self.bodies = None
        if following is not None:
            is_many, requests, seconds = following
            if is_many:
                self.bodies, self.seconds = requests, seconds
            else:
                self.body = requests[0]
            return None
        return (200, allowed) if allowed is not None else answer or (502, b"")

    def push(self, piece: Any) -> bytes:
        """Adds a piece of a stream, None at its end. Returns the bytes that the client may have now."""
        out, decisions = self.exchange.push(piece)
        self._tell(decisions)
        return out

    def is_asked_again(self) -> bool:
        """Whether the model is asked again after a stream that has ended: then `self.body` is the next request to it.

        All calls of the stream are denied, or another stream is looked for because of a forecast.
        """
        again = self.exchange.take_next_request()
        if again is not None:
            self.body = again
        return again is not None

    def is_complete(self) -> bool:
        """Whether the client has all of a streamed reply."""
        return self.exchange.is_complete

    def no_stream(self) -> bytes:
        """Ends a stream if the model gave no other one. Returns the bytes that the client may still have."""
        out, decisions = self.exchange.no_stream()
        self._tell(decisions)
        return out

    def cut(self) -> bytes:
        """Ends a stream whose connection broke. Returns the bytes that the client may still have."""
        out, decisions = self.exchange.cut()
        self._tell(decisions)
        return out

    def leave(self) -> None:
        """Ends a stream that the client stopped reading: only the part it has read is judged."""
        self._tell(self.exchange.leave())

    def _tell(self, decisions: List[Decision]) -> None:
        self.guard._tell(*decisions)


class Deadline:
    """The time that is left for several calls together; without a limit there is always some."""

    def __init__(self, seconds: Optional[float]) -> None:
        self._begun, self._seconds = time.monotonic(), seconds
        self._is_over = False

    def left(self) -> Optional[float]:
        """Returns how many seconds are left; None is no limit."""
        return None if self._seconds is None else max(0.0, self._begun + self._seconds - time.monotonic())

    def cut(self) -> None:
        """Notes that a call was not waited for any longer."""
        self._is_over = True

    def elapsed(self) -> float:
        """Returns how many seconds have passed: all of them if a call was cut."""
        elapsed = time.monotonic() - self._begun
        return max(elapsed, self._seconds or 0.0) if self._is_over else elapsed


def _within(deadline: Deadline, call: Callable[[], Optional[bytes]]) -> Optional[bytes]:
    """Makes a call, and waits for its reply no longer than there is time. A thread waits, since a reply that comes in small
    pieces has no timeout of its own; a reply that is late is dropped."""
    left = deadline.left()
    if left is None:
        return call()
    results: List[Tuple[Optional[bytes], Optional[BaseException]]] = []

    def make() -> None:
        try:
            results.append((call(), None))
        except BaseException as error:
            results.append((None, error))

    thread = threading.Thread(target=contextvars.copy_context().run, args=(make,), name="lictor-candidate", daemon=True)
    if left > 0:
        thread.start()
        thread.join(left)
    if not results:
        deadline.cut()
        return None
    reply, error = results[0]
    if error is not None:
        raise error
    return reply


async def _ask_together(calls: Sequence[Callable[[], Any]], deadline: Deadline) -> List[Optional[bytes]]:
    """Makes several calls, some of them at once where the loop is of asyncio. A call that takes longer than there is time is
    canceled, and has no reply."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return [await _one_within(deadline, call) for call in calls]
    replies: List[Optional[bytes]] = []
    for start in range(0, len(calls), _PARALLEL):
        replies += await _some_within(deadline, calls[start : start + _PARALLEL])
    return replies


async def _one_within(deadline: Deadline, call: Callable[[], Any]) -> Optional[bytes]:
    """Makes a call in the loop of another library."""
    anyio = importlib.import_module("anyio")
    reply: Optional[bytes] = None
    left = deadline.left()
    with anyio.move_on_after(left) as scope:
        reply = await call()
    if scope.cancelled_caught:
        deadline.cut()
    return reply


async def _some_within(deadline: Deadline, calls: Sequence[Callable[[], Any]]) -> List[Optional[bytes]]:
    """Makes calls at once in the loop of asyncio."""
    if deadline.left() == 0:
        deadline.cut()
        return [None] * len(calls)
    tasks = [asyncio.ensure_future(call()) for call in calls]
    try:
        await asyncio.wait(tasks, timeout=deadline.left())
        if not all(task.done() for task in tasks):
            deadline.cut()
        return [task.result() if task.done() else None for task in tasks]
    finally:
        for task in tasks:
            task.cancel()


def _read(response: Any) -> bytes:
    try:
        return bytes(response.read())
    finally:
        response.close()


async def _aread(response: Any) -> bytes:
    try:
        return bytes(await response.aread())
    finally:
        await response.aclose()


def _redirects(response: Any) -> bool:
    """Whether a reply leads elsewhere: to another address, by another protocol, or to what the client has already."""
    return bool(response.status_code < 200 or 300 <= response.status_code < 400)


def _is_reply(response: Any) -> bool:
    return response.status_code == 200 and not _streams(response)


def _is_stream(response: Any) -> bool:
    return response.status_code == 200 and _streams(response)


def _streams(response: Any) -> bool:
    return str(response.headers.get("content-type", "")).startswith("text/event-stream")


def _headers(response: Any) -> Dict[str, str]:
    return {name: value for name, value in response.headers.items() if name.lower() not in _BODY}


def _changed(http: Any, request: Any, body: bytes) -> Any:
    headers = [(name, value) for name, value in request.headers.raw if name.lower() not in (b"content-length",)]
    extensions = request.extensions
    return http.Request(request.method, request.url, headers=headers, content=body, extensions=extensions)


def _hastened(request: Any, deadline: Deadline) -> Any:
    """Returns a request with no timeout beyond the time that is left, so that no late call stays open."""
    left = deadline.left()
    if left is not None:
        given = dict(request.extensions.get("timeout") or {})
        shorter = {name: left if given.get(name) is None else min(given[name], left) for name in _TIMEOUTS}
        request.extensions = {**request.extensions, "timeout": shorter}
    return request


def _made(http: Any, request: Any, passage: Passage, status: int, body: bytes, like: Any = None) -> Any:
    headers = {"content-type": "application/json"} if like is None else _headers(like)
    headers.update(passage.headers())
    return http.Response(status, headers=headers, content=body, request=request)


def _streamed(http: Any, request: Any, passage: Passage, response: Any, stream: Any) -> Any:
    headers = {**_headers(response), **passage.headers()}
    return http.Response(response.status_code, headers=headers, stream=stream, request=request)
