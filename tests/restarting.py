"""Sites of real kits whose process ends after every message, so to speak: kits and journals
stay."""

from fedhull.kits.journal import Journal
from fedhull.kits.kit import Kit
from fedhull.kits.participant import SiteRun


class Restarting:
    """An engine for kits in a folder; `journals` are what the sites have kept, by their names, and
    `seen` the messages that each was sent."""

    def __init__(self, kits, names, run="run"):
        self.kits, self.run = kits, run
        self.journals = {name: Journal().to_bytes() for name in names}
        self.seen = {name: [] for name in names}

    def site(self, name, kit=None) -> SiteRun:
        return SiteRun(
            Kit.open(kit or self.kits / name),
            self.run,
            Journal.from_bytes(self.journals[name]),
            lambda journal: self.journals.update({name: journal.to_bytes()}),
        )

    def step(self, kind, messages, timeout=0.0):
        replies, failures = {}, {}
        for name, message in messages.items():
            self.seen[name].append((kind, message))
            reply, error = self.site(name).answer(kind, message)
            if error is not None:
                failures[name] = error
            elif reply is not None:
                replies[name] = reply
        return replies, failures
