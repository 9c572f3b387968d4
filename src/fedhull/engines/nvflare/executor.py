"""A site's end of a study on NVIDIA FLARE. It is part of the installed package, so that the site
runs only code that it has installed."""

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal

from fedhull.engines.nvflare.controller import ERROR, MESSAGE, REPLY
from fedhull.engines.nvflare.layout import kit_of
from fedhull.kits.participant import SiteRun
from fedhull.kits.results import INTERNAL_ERROR


class StudyExecutor(Executor):  # type: ignore[misc]
    """Answers for the site whose kit it is started with. Every secret of the session lives in this
    process's memory."""

    def __init__(self) -> None:
        super().__init__()
        self._run: SiteRun | None = None

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """Do the slow work before the first message, so that the time to the reply says nothing
        about the site's data. At the end of the job, note a missing result."""
        if event_type == EventType.START_RUN:
            self._begin(fl_ctx)
        if event_type == EventType.END_RUN and self._run is not None:
            self._run.end()

    def _begin(self, fl_ctx: FLContext) -> SiteRun | None:
        """Open the kit and prepare, once. Errors wait for the first message, and never go out in
        FLARE's words."""
        try:
            if self._run is None:
                self._run = SiteRun(kit_of(fl_ctx), fl_ctx.get_job_id())
                self._run.prepare()
        except Exception:
            return None
        return self._run

    def execute(
        self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal
    ) -> Shareable:
        """A reply, or the name of an error: the words stay at the site."""
        reply: bytes | None = None
        error: str | None = INTERNAL_ERROR
        if run := self._begin(fl_ctx):
            reply, error = run.answer(task_name, shareable.get(MESSAGE) or b"")
        answer = make_reply(ReturnCode.OK)
        if reply is not None:
            answer[REPLY] = reply
        if error is not None:
            answer[ERROR] = error
        return answer
