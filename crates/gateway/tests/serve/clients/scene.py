"""The scene for agents of all frameworks: three tools, and a list of the calls that reached them.

Standard input holds {"addresses"}. The model at each calls `look`, then `note`, then `drop`, and then says that it
is done. Through the gateway, `note` arrives with its diagnosis masked and `drop` does not arrive.
"""

import json
import os
import sys

ASKED = "Look at my orders, note what you find, and drop the rest."


def addresses():
    return json.load(sys.stdin)["addresses"]


def streams():
    """Whether the agent asks for streams: both, unless the environment says otherwise."""
    return [False] if os.environ.get("LICTOR_STREAMS") == "0" else [False, True]


class Scene:
    """One run: the calls that reached the tools, in order."""

    def __init__(self, client, stream):
        self.client, self.stream, self.entered = client, stream, []
        # Without a session header, all requests of a key are one session: each run has its own key.
        self.key = f"key-of-{client}-{stream}"

    def look(self, what: str = "") -> str:
        """Looks something up."""
        self.entered.append(["look", {"what": what}])
        return "three orders"

    def note(self, text: str = "", diagnosis: str = "") -> str:
        """Keeps a note."""
        self.entered.append(["note", {"text": text, "diagnosis": diagnosis}])
        return "noted"

    def drop(self, x: int = 0) -> str:
        """Drops everything."""
        self.entered.append(["drop", {"x": x}])
        return "dropped"

    def tools(self):
        return {"look": self.look, "note": self.note, "drop": self.drop}

    def tell(self, said):
        line = {"client": self.client, "stream": self.stream, "entered": self.entered, "said": said}
        print(json.dumps(line), flush=True)
