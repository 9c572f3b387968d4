"""The server's end of a study on NVIDIA FLARE. It is part of the installed package, so that sites
can refuse jobs that ship code."""

from collections.abc import Mapping
from threading import Condition
from time import monotonic

from nvflare.apis.client import Client
from nvflare.apis.controller_spec import ClientTask, Task, TaskCompletionStatus
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal

from fedhull.engines.following import PROGRESS, note_steps
from fedhull.engines.nvflare.layout import kit_of
from fedhull.errors import EngineFailure, FedhullError
from fedhull.kits.kit import Kit
from fedhull.kits.participant import coordinate
from fedhull.kits.results import INTERNAL_ERROR
from fedhull.progress import Report
from fedhull.protocol.drive import Answers
from fedhull.protocol.server import Step

MESSAGE, REPLY, ERROR = "message", "reply", "error"
_ABORT_CHECK_SECONDS = 0.2
# FLARE is still starting the sites' processes in the first step.
_START_SECONDS = 90.0


class StudyController(Controller):  # type: ignore[misc]
    """Runs the study of the server's kit."""

    def __init__(self, timeout: float = 600.0):
        super().__init__(task_check_period=0.05)
        self.timeout = timeout

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Nothing to prepare."""

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Nothing to clean up."""

    def process_result_of_unknown_task(
        self,
        client: Client,
        task_name: str,
        client_task_id: str,
        result: Shareable,
        fl_ctx: FLContext,
    ) -> None:
        """Ignore late replies."""

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Run the whole study; an error ends the job."""
        kit = kit_of(fl_ctx)
        run = fl_ctx.get_job_id()
        report = note_steps(kit.results(run) / PROGRESS)
        try:
            self.conduct(kit, run, FlareEngine(self, abort_signal, fl_ctx), report)
        except FedhullError as problem:
            self.system_panic(f"{type(problem).__name__}: {problem}", fl_ctx)

    def conduct(self, kit: Kit, run: str, engine: "FlareEngine", report: Report) -> None:
        """Run the study."""
        coordinate(kit, run, engine, self.timeout, report)


class FlareEngine:
    """One FLARE task for each site and step."""

    def __init__(self, controller: Controller, abort_signal: Signal, fl_ctx: FLContext):
        self._controller = controller
        self._abort_signal = abort_signal
        self._fl_ctx = fl_ctx

    def step(self, kind: str, messages: Mapping[str, bytes], timeout: float) -> Answers:
        """Hand each site its message as a task, and wait for the results."""
        if kind == Step.ADVERTISE.value:
            timeout = max(timeout, _START_SECONDS)
        there = {client.name for client in self._fl_ctx.get_engine().get_clients()}
        replies: dict[str, bytes] = {}
        failures = {name: "vanished" for name in messages if name not in there}
        heard: set[str] = set(failures)
        news = Condition()

        def receive(client_task: ClientTask, fl_ctx: FLContext) -> None:
            name = client_task.client.name
            with news:
                _sort(name, client_task.result, replies, failures)
                heard.add(name)
                news.notify_all()

        tasks: dict[str, Task] = {}
        for name in messages.keys() & there:
            data = Shareable({MESSAGE: messages[name]})
            # this loop, not FLARE's clock, ends the step
            tasks[name] = Task(kind, data, timeout=int(timeout) + 5, result_received_cb=receive)
            self._controller.send(tasks[name], self._fl_ctx, targets=[name])
        self._wait(news, set(tasks), heard, timeout)
        with news:
            failures |= dict.fromkeys(tasks.keys() - heard, "vanished")
            answers = dict(replies), dict(failures)
        for task in tasks.values():
            self._controller.cancel_task(task, TaskCompletionStatus.CANCELLED, self._fl_ctx)
        return answers

    def _wait(self, news: Condition, asked: set[str], heard: set[str], timeout: float) -> None:
        """Wait until all have answered or are known to be gone, or the time is up."""
        deadline = monotonic() + timeout
        with news:
            while monotonic() < deadline:
                lost = self._controller.get_client_disconnect_time
                gone = [bool(lost(name)) for name in asked - heard]
                # FLARE aborts a job that has lost too many sites; the protocol says so in words
                if all(gone) or (any(gone) and self._abort_signal.triggered):
                    return
                if self._abort_signal.triggered:
                    raise EngineFailure("the job was aborted, by an administrator or by FLARE")
                news.wait(_ABORT_CHECK_SECONDS)


def _sort(
    name: str, result: Shareable, replies: dict[str, bytes], failures: dict[str, str]
) -> None:
    """File a result under replies or failures; empty results are neither, as some messages have no
    reply."""
    error = result.get(ERROR)
    reply = result.get(REPLY)
    if result.get_return_code() != ReturnCode.OK:
        failures[name] = INTERNAL_ERROR
    elif isinstance(error, str):
        failures[name] = error if error.isidentifier() and len(error) < 40 else INTERNAL_ERROR
    elif isinstance(reply, bytes):
        replies[name] = reply
