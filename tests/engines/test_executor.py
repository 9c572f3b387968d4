"""A site's end of a study on FLARE, without FLARE's processes."""

import pytest

pytest.importorskip("nvflare", reason="the nvflare extra is not installed")

from conformance import agree
from federations import draft, make_data
from nvflare.apis.event_type import EventType
from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable

from fedhull.engines.nvflare.controller import ERROR, MESSAGE, REPLY
from fedhull.engines.nvflare.executor import StudyExecutor
from fedhull.engines.nvflare.layout import KIT_VARIABLE
from fedhull.errors import BelowThreshold
from fedhull.kits.consent import CONSENT
from fedhull.kits.kit import Kit
from fedhull.kits.participant import coordinate
from fedhull.kits.provision import make_kits
from fedhull.kits.results import STATUS

NAMES = ["lab-a", "lab-b", "lab-c"]


@pytest.fixture
def site(tmp_path, monkeypatch):
    """(executor, context, kits, data files) of lab-a, which has agreed."""
    make_kits(draft(NAMES), tmp_path / "kits")
    data = make_data(tmp_path, NAMES)
    agree(tmp_path / "kits", "lab-a", data)
    monkeypatch.setenv(KIT_VARIABLE, str(tmp_path / "kits" / "lab-a"))
    context = FLContext()
    context.set_prop(FLContextKey.CURRENT_RUN, "job")
    return StudyExecutor(), context, tmp_path / "kits", data


class Caught:
    """An engine that keeps what it is given first, and gets no replies."""

    def step(self, kind, messages, timeout):
        self.first = kind, dict(messages)
        return {}, dict.fromkeys(messages, "vanished")


def first_reply(executor, context, kits):
    """What the site answers when the server begins."""
    engine = Caught()
    with pytest.raises(BelowThreshold):
        coordinate(Kit.open(kits / "server"), "run", engine, 1.0, lambda progress: None)
    step, messages = engine.first
    return executor.execute(step, Shareable({MESSAGE: messages["lab-a"]}), context, None)


def test_a_site_prepares_before_the_first_message_is_asked_for(site):
    executor, context, kits, data = site
    executor.handle_event(EventType.START_RUN, context)
    assert (kits / "lab-a" / "results" / "job" / CONSENT).exists()
    data["lab-a"].unlink()  # nothing is read when the message is there
    assert first_reply(executor, context, kits).get(REPLY)


def test_what_goes_wrong_in_preparing_is_said_when_the_first_message_is_there(site):
    executor, context, kits, data = site
    data["lab-a"].write_bytes(b"other cells")
    executor.handle_event(EventType.START_RUN, context)
    answer = first_reply(executor, context, kits)
    assert (answer.get(REPLY), answer.get(ERROR)) == (None, "NoConsent")
    assert "have changed" in (kits / "lab-a" / "results" / "job" / STATUS).read_text()
