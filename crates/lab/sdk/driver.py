"""Drives the Trucks world with OpenAI's own library through a real gateway.

`LICTOR_LAB` and `LICTOR_COMMAND` name the two commands. `cargo xtask lab` sets them.
"""

import json
import os
import subprocess
import tempfile
import threading

import openai

LAB = os.environ.get("LICTOR_LAB", "lictor-lab")
LICTOR = os.environ.get("LICTOR_COMMAND", "lictor")


class Process:
    """A command that runs until the end of a `with` block."""

    def __init__(self, *command, **settings):
        self.child = subprocess.Popen(command, text=True, **settings)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()


class Agent(Process):
    """The simulated agent, served over HTTP."""

    def __init__(self):
        super().__init__(LAB, "serve-agent", stdout=subprocess.PIPE)
        self.address = self.child.stdout.readline().strip()


class Gateway(Process):
    """A gateway with the policy and the chain of a strategy."""

    def __init__(self, folder, upstream):
        command = [LICTOR, "serve", "--policy", f"{folder}/policy.yaml", "--upstream", upstream, "--listen", "127.0.0.1:0"]
        super().__init__(*command, stderr=subprocess.PIPE)
        seen = []
        for line in self.child.stderr:
            seen.append(line)
            if "listening on " in line:
                self.address = "http://" + line.split("listening on ")[1].split(",")[0].strip()
                break
        else:
            raise SystemExit("the gateway did not start:\n" + "".join(seen))
        # What it still writes is read, so that it never waits for us.
        threading.Thread(target=self.child.stderr.read, daemon=True).start()


class World(Process):
    """The world of a seed."""

    def __init__(self, seed, temperature):
        command = [LAB, "world", "--seed", str(seed), "--temperature", str(temperature)]
        super().__init__(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.request = json.loads(self.child.stdout.readline())

    def perform(self, call):
        line = json.dumps({"tool": call["function"]["name"], "arguments": call["function"]["arguments"]})
        self.child.stdin.write(line + "\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())

    def score(self):
        self.child.stdin.close()
        return json.loads(self.child.stdout.readline())


def write_policy(strategy, temperature, threshold=0.3):
    """Returns a folder with the policy and the chain of a strategy."""
    folder = tempfile.mkdtemp(prefix="lictor-lab-")
    options = ["--strategy", strategy, "--temperature", str(temperature), "--threshold", str(threshold)]
    subprocess.run([LAB, "policy", folder, *options], check=True)
    return folder


def ask(client, request, session, streamed):
    """Returns the assistant's message as a request repeats it."""
    headers = {"x-lictor-session": session}
    if not streamed:
        message = client.chat.completions.create(**request, extra_headers=headers).choices[0].message
        said = {"role": "assistant", "content": message.content}
        if message.tool_calls:
            said["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
                for c in message.tool_calls
            ]
        return said
    said, calls = {"role": "assistant", "content": None}, {}
    for chunk in client.chat.completions.create(**request, stream=True, extra_headers=headers):
        for choice in chunk.choices:
            if choice.delta.content:
                said["content"] = (said["content"] or "") + choice.delta.content
            for part in choice.delta.tool_calls or []:
                call = calls.setdefault(part.index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
                call["id"] = part.id or call["id"]
                call["function"]["name"] += part.function.name or ""
                call["function"]["arguments"] += part.function.arguments or ""
    if calls:
        said["tool_calls"] = [calls[index] for index in sorted(calls)]
    return said


def play(address, seed, temperature, streamed, changes={}, most_actions=1000):
    """Runs the world of a seed. Returns what truly happened. `changes` are made to each request; None removes a field."""
    client = openai.OpenAI(api_key="lab", base_url=f"{address}/v1", max_retries=0, timeout=300)
    actions = 0
    with World(seed, temperature) as world:
        request = {name: value for name, value in {**world.request, **changes}.items() if value is not None}
        over = False
        while not over and actions < most_actions:
            said = ask(client, request, f"run-{seed}", streamed)
            request["messages"].append(said)
            over = not said.get("tool_calls")
            for call in said.get("tool_calls", []):
                done = world.perform(call)
                actions += 1
                over = over or done["over"]
                result = json.dumps(done["result"], separators=(",", ":"))
                request["messages"].append({"role": "tool", "tool_call_id": call["id"], "content": result})
        return world.score()


def mean(values):
    values = list(values)
    return sum(values) / max(len(values), 1)
