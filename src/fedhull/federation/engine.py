"""The one interface between a study and whatever moves its messages."""

from collections.abc import Mapping
from typing import Protocol


class Engine(Protocol):
    """Delivers messages to clients and collects their replies."""

    def step(
        self, kind: str, messages: Mapping[str, bytes], timeout: float
    ) -> tuple[dict[str, bytes], dict[str, str]]:
        """Send each client its message and wait for the replies, {client: reply}, at most `timeout`
        seconds. Clients without a reply come back as {client: short reason}: the name of an error
        of ours, or "vanished". A client's own words never come back."""
