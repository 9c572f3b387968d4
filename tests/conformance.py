"""What every engine must do, as scenarios that run at the server over an engine and four sites.

`observe` returns plain values, so that it can run in another process; `check` holds them against
the memory engine's result for the same kits and data.
"""

import json

from fedhull.kits.consent import earlier_uploads, give
from fedhull.kits.kit import Kit
from fedhull.learn.model import model_to_json
from fedhull.protocol.drive import MemoryEngine
from fedhull.protocol.server import ServerSession
from fedhull.rounds.run import run_study
from fedhull.study.task import Source

OBSERVATIONS = "observations.json"


class Watched:
    """An engine that remembers what went through it."""

    def __init__(self, engine):
        self.engine = engine
        self.sent, self.failed = [], []

    def step(self, kind, messages, timeout):
        self.sent.append((kind, dict(messages)))
        replies, failures = self.engine.step(kind, messages, timeout)
        self.failed.append((kind, failures))
        assert not replies.keys() & failures.keys()
        return replies, failures


def observe(kit: Kit, engine, timeout: float) -> dict:
    """Run the scenarios: a forged beginning, a stranger, a whole study, then everything again."""
    coordinator = kit.task.coordinator()
    open_session = getattr(engine, "open_session", ServerSession)
    session = open_session(
        kit.study, coordinator.next_sum(), kit.identity, invited=sorted(kit.study.clients)
    )
    forged = {name: raw[:-1] + bytes([raw[-1] ^ 1]) for name, raw in session.start().items()}
    seen = {"forged": answers(engine.step("advertise", forged, timeout))}
    seen["stranger"] = answers(engine.step("advertise", {"nobody": b"?"}, timeout))
    watched, sessions = Watched(engine), [session]

    def next_session(*agreed, **more):
        return sessions.pop() if sessions else open_session(*agreed, **more)

    outcome = run_study(coordinator, watched, kit.identity, timeout, open_session=next_session)
    seen["survivors"] = outcome.survivors
    seen["failures"] = [[kind, failed] for kind, failed in watched.failed if failed]
    seen["model"] = model_to_json(outcome.model)
    seen["counts"] = [outcome.counts.correct, outcome.counts.tested]
    seen["second"] = [
        [kind, answers(engine.step(kind, messages, timeout))] for kind, messages in watched.sent
    ]
    return seen


def learned(path) -> dict:
    """What a study's model file says of the model: all but who wrote it, and when."""
    content = json.loads(path.read_text())
    assert content.pop("provenance")["study"]
    return content


def answers(result):
    replies, failures = result
    return {"replies": sorted(replies), "failures": failures}


def check(seen: dict, kits, data, names_errors: bool = True, sites_end: bool = False) -> None:
    """Hold observations against the memory engine; `names_errors` unless the engine has no way to
    carry the name of an error, `sites_end` if a site's process ends when it has its model."""
    expected = in_memory(kits, data)
    sites = sorted(data)
    assert seen["survivors"] == sites
    assert seen["failures"] == []
    assert seen["model"] == json.loads(json.dumps(model_to_json(expected.model)))
    assert seen["counts"] == [expected.counts.correct, expected.counts.tested]
    assert seen["stranger"] == {"replies": [], "failures": {"nobody": "vanished"}}
    # nobody answers what the coordinator has not signed, and nobody answers anything twice
    task = Kit.open(kits / "server").task
    steps = [step for number in range(1, task.sums + 1) for step in task.steps_of(number)]
    assert [kind for kind, _ in seen["second"]] == steps
    if not names_errors:  # a file of the first time may be read twice
        seen["second"] = [[kind, again] for kind, again in seen["second"] if kind != "publish"]
    for again in (seen["forged"], *(again for _, again in seen["second"])):
        assert again["replies"] == []
    if names_errors:
        assert set(seen["forged"]["failures"].values()) <= {"BadIdentity", "BadMessage"}
        assert sorted(seen["forged"]["failures"]) == sites
        for _, again in seen["second"]:
            refused = again["failures"]
            assert sorted(refused) == sites
            assert set(refused.values()) <= {"OutOfTurn", "vanished" if sites_end else "OutOfTurn"}


def agree(kits, name, data, again=False, **source):
    """Consent of a site to a session over its data, or `again` to one more; its kit."""
    kit = Kit.open(kits / name)
    where = Source(str(data[name]), **source)
    holdings = kit.task.read(where)
    after = earlier_uploads(kit, where, holdings) if again else []
    give(kit, where, holdings, given_at="2026-01-01T00:00:00+00:00", after=after)
    return kit


def sites_in_memory(kits, data):
    """The sites of these kits and data, in this process."""
    opened = [Kit.open(kits / name) for name in data]
    return [
        kit.task.site(kit.name, kit.identity, kit.task.read(Source(str(data[kit.name]))))
        for kit in opened
    ]


def in_memory(kits, data, vanish=None, engine=MemoryEngine):
    """The same study, keys and data, in the memory engine."""
    kit = Kit.open(kits / "server")
    sites = sites_in_memory(kits, data)
    made = engine(sites, vanish) if vanish else engine(sites)
    return run_study(kit.task.coordinator(), made, kit.identity)


def conduct_on_flare(controller, kit, run, engine, report):
    """In place of StudyController.conduct, in FLARE's server process."""
    from fedhull.kits.results import write_status

    seen = observe(kit, engine, controller.timeout)
    results = kit.results(run)
    (results / OBSERVATIONS).write_text(json.dumps(seen))
    (results / "result.json").write_text("{}")
    write_status(results, "Observed", "the scenarios have run")
