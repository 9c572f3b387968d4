"""What every engine must do, as scenarios that run at the server over an engine and four sites.

`observe` returns plain values, so that it can run in another process; `check` holds them against
the memory engine's result for the same kits and data.
"""

import json

from fedhull.engines.memory import MemoryEngine
from fedhull.federation.consent import load_holdings
from fedhull.federation.coordinator import run_study
from fedhull.federation.frame import encoder_of
from fedhull.federation.kit import Kit
from fedhull.federation.site import Site
from fedhull.learn.model import model_to_json
from fedhull.protocol.server import ServerSession

OBSERVATIONS = "observations.json"
STEPS = ["advertise", "share", "upload", "confirm", "unmask", "publish"]


class Watched:
    """An engine that remembers what went through it."""

    def __init__(self, engine):
        self.engine = engine
        self.sent, self.failed = {}, {}

    def step(self, kind, messages, timeout):
        self.sent[kind] = dict(messages)
        replies, self.failed[kind] = self.engine.step(kind, messages, timeout)
        assert not replies.keys() & self.failed[kind].keys()
        return replies, self.failed[kind]


def observe(kit: Kit, make_engine, timeout: float) -> dict:
    """Run the scenarios: a forged beginning, a stranger, a whole study, then everything again."""
    session = ServerSession(kit.study, kit.identity)
    engine = make_engine(session)
    forged = {name: raw[:-1] + bytes([raw[-1] ^ 1]) for name, raw in session.start().items()}
    seen = {"forged": answers(engine.step("advertise", forged, timeout))}
    seen["stranger"] = answers(engine.step("advertise", {"nobody": b"?"}, timeout))
    watched = Watched(engine)
    outcome = run_study(session, watched, timeout)
    seen["survivors"] = outcome.aggregate.survivors
    seen["failures"] = {kind: failed for kind, failed in watched.failed.items() if failed}
    seen["model"] = model_to_json(outcome.model)
    seen["counts"] = [outcome.correct, outcome.tested]
    seen["second"] = {
        kind: answers(engine.step(kind, messages, timeout))
        for kind, messages in watched.sent.items()
    }
    return seen


def answers(result):
    replies, failures = result
    return {"replies": sorted(replies), "failures": failures}


def check(seen: dict, kits, data, names_errors: bool = True) -> None:
    """Hold observations against the memory engine; `names_errors` unless the engine has no way to
    carry the name of an error."""
    expected = in_memory(kits, data)
    sites = sorted(data)
    assert seen["survivors"] == sites
    assert seen["failures"] == {}
    assert seen["model"] == json.loads(json.dumps(model_to_json(expected.model)))
    assert seen["counts"] == [expected.correct, expected.tested]
    assert seen["stranger"] == {"replies": [], "failures": {"nobody": "vanished"}}
    # nobody answers what the coordinator has not signed, and nobody answers anything twice
    if not names_errors:
        del seen["second"]["publish"]  # a file of the first time may be read twice
    for again in (seen["forged"], *seen["second"].values()):
        assert again["replies"] == []
    if names_errors:
        assert set(seen["forged"]["failures"].values()) <= {"BadIdentity", "BadMessage"}
        assert sorted(seen["forged"]["failures"]) == sites
        for kind in STEPS:
            assert seen["second"][kind]["failures"] == dict.fromkeys(sites, "OutOfTurn")


def in_memory(kits, data, vanish=None):
    """The same study, keys and data, in the memory engine."""
    kit = Kit.open(kits / "server")
    encoder = encoder_of(kit.folder, kit.study)
    sites = [
        Site(kit.study, name, Kit.open(kits / name).identity,
             load_holdings(kit.study, str(data[name]), "label", encoder))
        for name in kit.study.clients
    ]  # fmt: skip
    return run_study(ServerSession(kit.study, kit.identity), MemoryEngine(sites, vanish))


def conduct_on_flare(controller, kit, run, engine, report):
    """In place of StudyController.conduct, in FLARE's server process."""
    from fedhull.federation.participant import write_status

    seen = observe(kit, lambda session: engine, controller.timeout)
    results = kit.results(run)
    (results / OBSERVATIONS).write_text(json.dumps(seen))
    (results / "result.json").write_text("{}")
    write_status(results, "Observed", "the scenarios have run")
