"""Learning again from a kept sum, without a new session."""

import secrets
from pathlib import Path
from typing import Any

from fedhull.disk import write_bytes
from fedhull.errors import InvalidInput
from fedhull.kits.files import read_checked
from fedhull.kits.kit import Kit
from fedhull.kits.results import stamp_of, write_results
from fedhull.protocol.agreement import parse_toml
from fedhull.protocol.messages import Publish, encode_to_client
from fedhull.report.pages import coordinator_page
from fedhull.rounds.run import PUBLICATION, SUM, VOTES
from fedhull.study.kinds import study_from_plain


def learn_again(results: Path, out: Path | None, settings: dict[str, Any]) -> tuple[Any, Path]:
    """Learn from a coordinator's kept sum with other settings of [learning], in a new folder, `out`
    or one beside the results. It also holds a publication, from which sites without a result get
    the model."""
    sum_file = results / SUM
    if not sum_file.is_file():
        raise InvalidInput(
            f"{sum_file} does not exist; name the folder in which 'fedhull server' kept its sum, "
            f"KIT/results/RUN"
        )
    kit = Kit.open(results.resolve().parents[1])
    if settings.keys() <= set(kit.task.choices):
        content = parse_toml(kit.study.to_toml())
        study_from_plain(content | {"learning": content.get("learning", {}) | settings})
    votes = results / VOTES
    cast = read_checked(votes) if votes.is_file() else None
    outcome = kit.task.learn(read_checked(sum_file), cast, **settings)
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
