"""The ClientApp of a study; `kit` comes from the node's configuration.

Flower starts a new process for each message. What a session needs in order to go on is kept in the
node's own state, in the memory of its SuperNode.
"""

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from fedhull.engines.flower.engine import ANSWER, ERROR, HELLO, MESSAGE, NAME, RECORD, REPLY, STEP
from fedhull.kits.journal import Journal
from fedhull.kits.kit import Kit
from fedhull.kits.participant import SiteRun
from fedhull.kits.results import INTERNAL_ERROR

_JOURNAL = "journal"
app = ClientApp()


@app.query(HELLO)
def hello(message: Message, context: Context) -> Message:
    """Say which site this node speaks for."""
    try:
        name = Kit.open(str(context.node_config["kit"])).name or ""
    except Exception:
        name = ""
    return _reply(message, {NAME: name})


@app.query(ANSWER)
def answer(message: Message, context: Context) -> Message:
    """A reply, or the name of an error: a site's words and values stay with the site."""
    try:
        return _reply(message, _answer(message.content.config_records[RECORD], context))
    except Exception:
        return _reply(message, {ERROR: INTERNAL_ERROR})


def _answer(question: ConfigRecord, context: Context) -> dict[str, str | bytes]:
    kept = context.state.config_records.get(RECORD)
    journal = Journal.from_bytes(bytes(kept[_JOURNAL])) if kept else None  # type: ignore[arg-type]

    def keep(grown: Journal) -> None:
        context.state[RECORD] = ConfigRecord({_JOURNAL: grown.to_bytes()})

    kit = Kit.open(str(context.node_config["kit"]))
    site = SiteRun(kit, f"flower-{context.run_id}", journal, keep)
    reply, error = site.answer(str(question[STEP]), bytes(question[MESSAGE]))  # type: ignore[arg-type]
    return {ERROR: error} if error is not None else {REPLY: reply or b""}


def _reply(message: Message, content: dict[str, str | bytes]) -> Message:
    return Message(RecordDict({RECORD: ConfigRecord(dict(content))}), reply_to=message)
