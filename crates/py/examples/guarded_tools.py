"""Guarded tools, without any framework. Run it with `python guarded_tools.py`."""

from __future__ import annotations

from pathlib import Path
from typing import List

import lictor

guard = lictor.Guard(Path(__file__).with_name("shop.yaml"))
ENTERED: List[str] = []


@guard.tool
def look_up(order: str) -> str:
    ENTERED.append("look_up")
    return f"{order}: one teapot, for Ada, born 1990-05-17"


@guard.tool
def send_mail(to: str, body: str) -> str:
    ENTERED.append(f"send_mail: {body}")
    return "sent"


@guard.tool
def refund(order: str) -> str:
    ENTERED.append("refund")
    return f"refunded {order}"


def main() -> List[str]:
    said = []
    with guard.session("order-A1"):
        said.append(look_up("A1"))
        said.append(send_mail("ada@example.org", body="Ada, born 1990-05-17, your teapot is here."))
        try:
            said.append(refund(order="A1"))
        except lictor.Denied as denied:
            said.append(str(denied))
        guard.decide({"kind": "approval"})
        said.append(refund(order="A1"))
    print("\n".join([*ENTERED, *said]))
    return said


if __name__ == "__main__":
    main()
