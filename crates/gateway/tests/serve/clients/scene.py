"""The scene that agents of all makes play: three tools, and a note of which were entered, with what.

Standard input holds {"addresses"}. A model behind each calls `look`, then `note`, then `drop`, and then says that it
is done; where the gateway stands before it, `note` arrives without its diagnosis and `drop` does not arrive.
"""

import json
import sys

ASKED = "Look at my orders, note what you find, and drop the rest."


def addresses():
    return json.load(sys.stdin)["addresses"]


class Scene:
    """One run: what was entered, in order."""

    def __init__(self, client, stream):
        self.client, self.stream, self.entered = client, stream, []
        # Without a header of ours all of a key is one session: each run has its own.
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
