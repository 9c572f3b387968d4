"""`fedhull plan`: what a study with these settings would send, before anything is sent."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from fedhull.cli.console import JsonFlag, out, prepare_kernels, print_json
from fedhull.errors import InvalidInput
from fedhull.study.draft import default_of, draft_study, site_name
from fedhull.study.study import Study


def plan(
    clients: Annotated[int, typer.Option(help="Sites on the roster, L.")],
    classes: Annotated[
        int | None, typer.Option(help="Most classes that a site may have, J; counted in --data.")
    ] = None,
    epsilon: Annotated[float, typer.Option(help="Width of a bin, ε.")] = 0.01,
    radius: Annotated[float, typer.Option(help="All points lie within this radius, R.")] = 0.95,
    curvature: Annotated[float, typer.Option(help="k; the space has curvature −k.")] = default_of(
        "curvature"
    ),
    label_code: Annotated[
        str, typer.Option(help="auto, pairs, binary or bose-chowla:H.")
    ] = default_of("label_code"),
    corners: Annotated[
        int, typer.Option(min=1, help="Corners of a site's hulls, without --data.")
    ] = 100,
    data: Annotated[
        str | None, typer.Option(help="A site's own points: a file or a built-in name.")
    ] = None,
    label: Annotated[str, typer.Option(help="Column that holds the classes.")] = "label",
    encoder: Annotated[
        Path | None, typer.Option(help="Place the cells of --data with this encoder file first.")
    ] = None,
    guard: Annotated[
        str, typer.Option(help="none, or parts joined by +: edit, trim:F, group:K, your own.")
    ] = default_of("guard"),
    min_cells: Annotated[
        int, typer.Option(help="Nothing leaves that is made of fewer cells.")
    ] = default_of("min_cells"),
    json: JsonFlag = False,
) -> None:
    """Show what a study would send: bins, label code and why, bytes, what would leave a site."""
    from fedhull.protocol.agreement import collusion_words
    from fedhull.protocol.sizes import bytes_up
    from fedhull.study.counts import COUNTS
    from fedhull.study.hulls.sum import HullSummation
    from fedhull.study.study import announced_corners

    x = y = None
    if data is not None:
        prepare_kernels(quiet=json)
        x, y = _own_points(data, label, encoder)
        classes = classes or len(set(y.tolist()))
    if classes is None:
        raise InvalidInput("--classes must be given, or --data to count them in")
    study = draft_study(
        clients, classes, name="plan", epsilon=epsilon, radius=radius, curvature=curvature,
        label_code=label_code, guard=guard, min_cells=min_cells,
    )  # fmt: skip
    own, words = ({}, []) if x is None else _own_hulls(study, x, y)
    corners = own.get("points_sent", corners)
    announced = clients * announced_corners(corners)
    filled, n_bins = clients * corners, study.quantizer.n_bins
    numbers = {
        "bins": n_bins,
        "labels": clients * classes,
        "label_code": study.coding.name,
        "label_code_reason": study.coding.reason,
        "labels_that_may_meet": study.coding.most_labels,
        "planes": study.coding.planes,
        "field_bits": study.coding.field.bits,
        "power_sums": study.sums_for(announced),
        "bytes_up_per_client": bytes_up(
            study, site_name(0), HullSummation(study).layout((announced,), clients), COUNTS
        ),
        "threshold": study.threshold,
        "tolerated": study.tolerated,
        "largest_distortion": epsilon / 2.0,
        "expected_collisions": filled * (filled - 1) / 2.0 / n_bins,
        **own,
    }
    if json:
        print_json(numbers)
        return
    planes = f", in {study.coding.planes} planes" if study.coding.planes > 1 else ""
    out.print(
        f"Bins: {n_bins:,}, {study.quantizer.n_rings:,} rings of {study.quantizer.n_angles:,}. "
        f"A point moves by at most {epsilon / 2:g}.\n"
        f"Labels: {clients} sites × {classes} classes = {clients * classes}.\n"
        f"Label code: {study.coding.name}, because {study.coding.reason}.\n"
        f"Up to {numbers['labels_that_may_meet']} labels may meet in one bin.\n"
        f"Field: a prime of {study.coding.field.bits} bits{planes}.\n"
        f"Upload: if every site has {corners} corners, each sends {numbers['power_sums']:,} masked "
        f"sums; with all messages {numbers['bytes_up_per_client']:,} bytes.\n"
        f"Threshold: {study.threshold} of {clients} sites must stay to the end. "
        f"{collusion_words(study)}\n"
        f"Bins shared by two hulls, if all bins were equally likely: about "
        f"{numbers['expected_collisions']:.2g}; near the rim there are more.",
    )
    if own:
        out.print(
            f"Of these data, {own['points_sent']} points would leave, as {own['bins_filled']} "
            f"bins, {own['points_sent'] / own['points_held']:.1%} as many as the "
            f"{own['points_held']:,} held; the guard '{study.guard}' keeps "
            f"{own['points_guarded']} out of the hulls.\n" + "\n".join(words),
        )


def _own_points(data: str, label: str, encoder: Path | None) -> Any:
    """Points and labels of a site's data."""
    from fedhull.data.datasets import load_dataset
    from fedhull.embed.embedder import load_cell_embedder
    from fedhull.study.frame import load_points

    if encoder is None:
        return load_dataset(data, label)
    return load_points(load_cell_embedder(encoder), data, label)


def _own_hulls(study: Study, x: Any, y: Any) -> tuple[dict[str, Any], list[str]]:
    """What of a site's points would leave, in numbers and class by class in words."""
    from fedhull.study.hulls.holdings import class_table, make_hulls

    study.quantizer.encode(x)  # a point beyond R is an error, by its row
    own = make_hulls(study, x, y)
    numbers = {
        "classes": len(own.classes),
        "points_held": own.points_held,
        "points_guarded": own.points_guarded,
        "points_sent": own.points_sent,
        "bins_filled": own.bins_filled,
        "smallest_group": own.smallest_group,
        "cells_exposed": own.cells_exposed,
        "by_class": [msgspec.structs.asdict(line) for line in own.lines],
    }
    return numbers, class_table(own.lines)
