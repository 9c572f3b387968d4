"""The ServerApp and ClientApp of a study. `kit`, `timeout` and `wait` come from the run's
configuration, a site's `kit` from its node's.

At a site, Flower starts a new process for each message. The session's journal stays in the node's
state, in the memory of its SuperNode.
"""

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from fedhull.engines.flower.engine import (
    ANSWER,
    ERROR,
    HELLO,
    MESSAGE,
    NAME,
    RECORD,
    REPLY,
    STEP,
    FlowerEngine,
    find_sites,
)
from fedhull.engines.following import PROGRESS, note_steps
from fedhull.errors import FedhullError
from fedhull.kits.journal import Journal
from fedhull.kits.kit import Kit
from fedhull.kits.participant import SiteRun, coordinate
from fedhull.kits.results import INTERNAL_ERROR, write_status
from fedhull.progress import Progress

_JOURNAL = "journal"
server = ServerApp()
client = ClientApp()


@server.main()
def main(grid: Grid, context: Context) -> None:
    """Wait for the sites, run the study, and write the results to the coordinator's kit."""
    kit = Kit.open(str(context.run_config["kit"]))
    run = f"flower-{context.run_id}"
    results = kit.results(run)
    report = note_steps(results / PROGRESS)

    def connected(names: list[str]) -> None:
        report(Progress("connect", len(names), len(kit.study.clients)))

    try:
        nodes = find_sites(grid, kit.study, float(context.run_config["wait"]), connected)
        engine = FlowerEngine(grid, nodes)
        coordinate(kit, run, engine, float(context.run_config["timeout"]), report)
    except FedhullError as problem:
        # it stands in the kit; Flower need not show a traceback
        write_status(results, type(problem).__name__, f"{problem}")


@client.query(HELLO)
def hello(message: Message, context: Context) -> Message:
    """Name the site that this node speaks for."""
    try:
        name = Kit.open(str(context.node_config["kit"])).name or ""
    except Exception:
        name = ""
    return _reply(message, {NAME: name})


@client.query(ANSWER)
def answer(message: Message, context: Context) -> Message:
    """A reply, or the name of an error: the words stay at the site."""
    try:
        return _reply(message, _answer(message.content.config_records[RECORD], context))
    except Exception:
        return _reply(message, {ERROR: INTERNAL_ERROR})


def _answer(question: ConfigRecord, context: Context) -> dict[str, str | bytes]:
    state = context.state.config_records.get(RECORD)
    journal = Journal.from_bytes(bytes(state[_JOURNAL])) if state else None  # type: ignore[arg-type]

    def keep(grown: Journal) -> None:
        context.state[RECORD] = ConfigRecord({_JOURNAL: grown.to_bytes()})

    kit = Kit.open(str(context.node_config["kit"]))
    site = SiteRun(kit, f"flower-{context.run_id}", journal, keep)
    reply, error = site.answer(str(question[STEP]), bytes(question[MESSAGE]))  # type: ignore[arg-type]
    return {ERROR: error} if error is not None else {REPLY: reply or b""}


def _reply(message: Message, content: dict[str, str | bytes]) -> Message:
    return Message(RecordDict({RECORD: ConfigRecord(dict(content))}), reply_to=message)
