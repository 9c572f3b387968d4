"""`fedhull plan`: what a study with these settings would send, before anything is sent."""

from typing import Annotated

import typer

from fedhull.cli.console import JsonFlag, out, print_json


def plan(
    clients: Annotated[int, typer.Option(min=2, help="Sites on the roster, L.")],
    classes: Annotated[int, typer.Option(min=1, help="Classes that a site may have, J.")],
    epsilon: Annotated[float, typer.Option(help="Width of a bin, ε.")] = 0.01,
    radius: Annotated[float, typer.Option(help="All points lie within this radius, R.")] = 0.95,
    curvature: Annotated[float, typer.Option(help="k; the space has curvature −k.")] = 1.0,
    label_code: Annotated[str, typer.Option(help="auto, binary or bose-chowla:H.")] = "auto",
    corners: Annotated[
        int, typer.Option(min=1, help="Bins that a site fills, all its hulls together.")
    ] = 100,
    json: JsonFlag = False,
) -> None:
    """Say what a study would send: bins, label code and why, field, bytes."""
    from fedhull.protocol.study import Geometry, Labels, Rules, Study, announced_bins

    study = Study(
        name="plan",
        geometry=Geometry(epsilon=epsilon, radius=radius, curvature=curvature),
        labels=Labels(classes=classes, code=label_code),
        protocol=Rules(allow_small_cohort=True),
        clients={f"site-{i}": f"{i:064x}" for i in range(clients)},
    )
    quantizer, coding = study.quantizer, study.coding
    n_sums = study.sums_for(clients * announced_bins(corners))
    numbers = {
        "bins": quantizer.n_bins,
        "labels": clients * classes,
        "label_code": coding.name,
        "label_code_reason": coding.reason,
        "field_bits": coding.field.bits,
        "power_sums": n_sums,
        "bytes_of_sums_per_client": coding.field.packed_size(n_sums),
    }
    if json:
        print_json(numbers)
        return
    out.print(
        f"Bins: {quantizer.n_bins:,}, {quantizer.n_rings:,} rings of {quantizer.n_angles:,}, each "
        f"at most {epsilon:g} wide.\n"
        f"Labels: {clients} sites × {classes} classes = {clients * classes}.\n"
        f"Label code: {coding.name}, because {coding.reason}.\n"
        f"Field: a prime of {coding.field.bits} bits, more than the bins and the largest sum of "
        f"labels need.\n"
        f"Upload: if every site fills {corners} bins, each sends {n_sums:,} masked sums, "
        f"{coding.field.packed_size(n_sums):,} bytes.",
        highlight=False,
    )
