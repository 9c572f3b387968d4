"""A site's end of a study on NVIDIA FLARE. It lives in the installed package, so that the site runs
only code that it has installed itself."""

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal

from fedhull.engines.nvflare.controller import ERROR, MESSAGE, REPLY
from fedhull.kits.kit import Kit
from fedhull.kits.participant import SiteRun
from fedhull.kits.results import INTERNAL_ERROR


class StudyExecutor(Executor):  # type: ignore[misc]
    """Answers for the site whose kit is the FLARE workspace it is started in. The object, and with
    it every secret of the session, lives in this process's memory and ends with the job."""

    def __init__(self) -> None:
        super().__init__()
        self._run: SiteRun | None = None

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """When the job ends without a model, somebody has to say so."""
        if event_type == EventType.END_RUN and self._run is not None:
            self._run.end()

    def execute(
        self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal
    ) -> Shareable:
        """A reply, or the name of an error: a site's words and values stay with the site."""
        try:
            if self._run is None:
                kit = Kit.open(fl_ctx.get_engine().get_workspace().get_root_dir())
                self._run = SiteRun(kit, fl_ctx.get_job_id())
            message = shareable.get(MESSAGE)
            reply, error = self._run.answer(task_name, message if message else b"")
        except Exception:
            # FLARE would pass the exception's own words on
            reply, error = None, INTERNAL_ERROR
        answer = make_reply(ReturnCode.OK)
        if reply is not None:
            answer[REPLY] = reply
        if error is not None:
            answer[ERROR] = error
        return answer
