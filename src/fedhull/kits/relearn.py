"""Learning once more from the sum that a coordinator has kept, without a new session."""

import secrets
from pathlib import Path
from typing import Any

from fedhull.disk import write_bytes
from fedhull.errors import InvalidInput
from fedhull.kits.checked import read_checked
from fedhull.kits.kit import Kit
from fedhull.kits.results import stamp_of, write_results
from fedhull.protocol.agreement import parse_toml
from fedhull.protocol.messages import Publish, encode_to_client
from fedhull.report.pages import coordinator_page
from fedhull.study.coordinator import PUBLICATION, SUM, VOTES
from fedhull.study.kinds import study_from_plain


def learn_again(results: Path, out: Path | None, settings: dict[str, Any]) -> tuple[Any, Path]:
    """What comes of the sum in a coordinator's results with other settings of [learning], and the
    new folder that it is in, `out` or one beside the results. With it is a publication, from which
    sites that have no result yet get the model."""
    kept = results / SUM
    if not kept.is_file():
        raise InvalidInput(
            f"{kept} does not exist; name the folder in which 'fedhull server' has kept its sum, "
            f"KIT/results/RUN"
        )
    kit = Kit.open(results.resolve().parents[1])
    if settings.keys() <= set(kit.task.choices):
        # settings keep the rules of a study file
        content = parse_toml(kit.study.to_toml())
        study_from_plain(content | {"learning": content.get("learning", {}) | settings})
    votes = results / VOTES
    cast = read_checked(votes) if votes.is_file() else None
    outcome = kit.task.learn(read_checked(kept), cast, **settings)
    folder = _new_folder(results, out)
    message = Publish(
        study=kit.study.hash,
        session=secrets.token_bytes(16),
        content=outcome.published(),
        asked=kit.study.marked([]),
    )
    write_bytes(folder / PUBLICATION, encode_to_client(message, kit.identity), mode=0o600)
    files = outcome.files(stamp_of(kit))
    write_results(folder, files, outcome.to_json(), lambda: coordinator_page(outcome))
    return outcome, folder


def _new_folder(results: Path, out: Path | None) -> Path:
    if out is None:
        number = len(list(results.parent.glob(f"{results.name}-learned-*"))) + 1
        out = results.with_name(f"{results.name}-learned-{number}")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidInput(f"{out} is not empty; --out must name a new folder")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InvalidInput(f"{out} cannot be made: {problem.strerror}") from None
    return out
