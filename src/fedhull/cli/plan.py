"""`fedhull plan`: what a study with these settings would send, before anything is sent."""

from pathlib import Path
from typing import Annotated, Any

import typer

from fedhull.cli.console import JsonFlag, out, prepare_kernels, print_json
from fedhull.errors import InvalidInput


def plan(
    clients: Annotated[int, typer.Option(help="Sites on the roster, L.")],
    classes: Annotated[
        int | None, typer.Option(help="Classes that a site may have, J; known from --data.")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="Width of a bin, ε.")] = 0.01,
    radius: Annotated[float, typer.Option(help="All points lie within this radius, R.")] = 0.95,
    curvature: Annotated[float, typer.Option(help="k; the space has curvature −k.")] = 1.0,
    label_code: Annotated[str, typer.Option(help="auto, binary or bose-chowla:H.")] = "auto",
    corners: Annotated[
        int, typer.Option(min=1, help="Bins that a site fills, if there is no --data.")
    ] = 100,
    data: Annotated[
        str | None, typer.Option(help="A site's own points: a file or a built-in name.")
    ] = None,
    label: Annotated[str, typer.Option(help="Column that holds the classes.")] = "label",
    encoder: Annotated[
        Path | None, typer.Option(help="Place the cells of --data by this encoder file first.")
    ] = None,
    guard: Annotated[str, typer.Option(help="none, edit, trim:F or edit+trim:F.")] = (
        "edit+trim:0.02"
    ),
    json: JsonFlag = False,
) -> None:
    """Say what a study would send: bins, label code and why, bytes, and what would leave a site."""
    from fedhull.protocol.sizes import bytes_up
    from fedhull.protocol.study import Geometry, Labels, Rules, Study, announced_bins

    geometry = Geometry(epsilon=epsilon, radius=radius, curvature=curvature)
    own: dict[str, Any] = {}
    if data is not None:
        prepare_kernels(quiet=json)
        own = _own_hulls(data, label, encoder, guard, geometry)
        corners = own["bins_filled"]
    classes = classes or own.get("classes")
    if classes is None:
        raise InvalidInput("--classes must be given, or --data, which tells it")
    study = Study(
        name="plan",
        geometry=geometry,
        labels=Labels(classes=classes, code=label_code),
        protocol=Rules(allow_small_cohort=True, most_bins=1_000_000),
        clients={f"site-{i + 1:04d}": f"{i:064x}" for i in range(clients)},
    )
    announced = clients * announced_bins(corners)
    filled, n_bins = clients * corners, study.quantizer.n_bins
    numbers = {
        "bins": n_bins,
        "labels": clients * classes,
        "label_code": study.coding.name,
        "label_code_reason": study.coding.reason,
        "field_bits": study.coding.field.bits,
        "power_sums": study.sums_for(announced),
        "bytes_up_per_client": bytes_up(study, "site-0001", announced),
        "largest_distortion": epsilon / 2.0,
        "expected_collisions": filled * (filled - 1) / 2.0 / n_bins,
        **own,
    }
    if json:
        print_json(numbers)
        return
    out.print(
        f"Bins: {n_bins:,}, {study.quantizer.n_rings:,} rings of {study.quantizer.n_angles:,}. "
        f"A point moves by at most {epsilon / 2:g}.\n"
        f"Labels: {clients} sites × {classes} classes = {clients * classes}.\n"
        f"Label code: {study.coding.name}, because {study.coding.reason}.\n"
        f"Field: a prime of {study.coding.field.bits} bits.\n"
        f"Upload: if every site fills {corners} bins, each sends {numbers['power_sums']:,} masked "
        f"sums; with all messages {numbers['bytes_up_per_client']:,} bytes.\n"
        f"Bins shared by two hulls, if all bins were equally likely: about "
        f"{numbers['expected_collisions']:.2g}; near the rim there are more.",
        highlight=False,
    )
    if own:
        out.print(
            f"From these data {own['points_sent']} of {own['points_held']:,} points "
            f"({own['points_sent'] / own['points_held']:.1%}) would leave, as {own['bins_filled']} "
            f"bins; the guard '{guard}' keeps {own['points_guarded']} out of the hulls.",
            highlight=False,
        )


def _own_hulls(
    data: str, label: str, encoder: Path | None, guard: str, geometry: Any
) -> dict[str, Any]:
    from fedhull.data.datasets import load_dataset
    from fedhull.embed.embedder import load_cell_embedder
    from fedhull.federation.frame import load_points
    from fedhull.federation.holdings import make_hulls

    if encoder is None:
        x, y = load_dataset(data, label)
    else:
        x, y = load_points(load_cell_embedder(encoder), data, label)
    geometry.quantizer.encode(x)  # a point beyond R is an error, by its row
    own = make_hulls(x, y, geometry, guard)
    return {
        "classes": len(own.classes),
        "points_held": own.points_held,
        "points_guarded": own.points_guarded,
        "points_sent": own.points_sent,
        "bins_filled": len({j for bins in own.hulls for j in bins}),
    }
