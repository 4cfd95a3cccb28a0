"""Named properties over the steps of an agent. Run it with `python trajectory.py`."""

from __future__ import annotations

from lictor import G, StepObservation, TrajectorySafetyMonitor, atom, not_


def main() -> None:
    monitor = TrajectorySafetyMonitor()
    monitor.observe(StepObservation(tool_call=True))
    monitor.observe(StepObservation(injection_detected=True, output_emitted=True))
    print(monitor.report()["violations"])
    print(monitor.finalize()["violations"])

    offline = TrajectorySafetyMonitor({"never_calls_external_api": G(not_(atom("external_api_call")))})
    offline.observe({"external_api_call"})
    print(offline.report()["specs"][0])


if __name__ == "__main__":
    main()
