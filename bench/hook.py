"""How long a hook takes, process and all: `python3 bench/hook.py target/release/lictor [CALLS] [POLICY]`.

A hook that does nothing (`lictor --version`) and one wait for the disk are measured in the same run, to compare with.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time


def timed(work):
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def show(name, times):
    times = sorted(times)
    low, middle, high = times[len(times) // 10], statistics.median(times), times[len(times) * 9 // 10]
    print(f"{name:34} median {middle:7.2f} ms   10 % {low:7.2f} ms   90 % {high:7.2f} ms")


def main(program, calls, policy):
    with tempfile.TemporaryDirectory(dir=".") as folder:

        def ask(number, *more):
            arguments = [program, "hook", "claude", "--project", folder, "--policy", policy, *more]
            call = {
                "session_id": "s",
                "cwd": folder,
                "hook_event_name": "PreToolUse",
                "tool_name": "Bash",
                "tool_use_id": f"call-{number}",
                "tool_input": {"command": f"ls {number}"},
            }
            result = subprocess.run(arguments, input=json.dumps(call).encode(), capture_output=True, check=True)
            assert result.stdout == b"", result

        def sync():
            file.write(b"x" * 500)
            file.flush()
            os.fsync(file.fileno())

        show("a process that does nothing", [timed(lambda: subprocess.run([program, "--version"], capture_output=True)) for _ in range(calls)])
        with open(os.path.join(folder, "file"), "wb") as file:
            show("a wait for the disk", [timed(sync) for _ in range(calls)])
        print(f"{'the first call':34} {timed(lambda: ask(0)):14.2f} ms")
        for _ in range(600):
            if os.path.exists(os.path.join(folder, ".lictor/state/keeper.sock")):
                break
            time.sleep(0.05)
        times = [timed(lambda number=number: ask(number + 1)) for number in range(calls)]
        show("a call, with a keeper", times)
        show("the last tenth of them", times[-max(10, calls // 10) :])
        os.remove(os.path.join(folder, ".lictor/state/keeper.sock"))
        time.sleep(2)
        show("a call without a keeper", [timed(lambda number=number: ask(f"n{number}", "--no-keeper")) for number in range(10)])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200, sys.argv[3] if len(sys.argv) > 3 else "agent-safety")
