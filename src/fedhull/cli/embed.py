"""`fedhull embed`: from a matrix of counts, or a tree, to points in the disc."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from fedhull.cli.console import JsonFlag, out, print_json, progress_bar, showing
from fedhull.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from fedhull.embed.cells import Cells
    from fedhull.embed.embedder import CellEmbedder
    from fedhull.embed.embedding import Embedding

TREE = "tree"
_QUALITY = {
    "distance_correlation": ("rank correlation of distances, before and after", "{:.2f}"),
    "distortion": ("mean relative change of a distance", "{:.0%}"),
    "neighbours_kept": ("of each cell's 15 nearest neighbours kept", "{:.0%}"),
    "knn_disc": ("cells whose 15 neighbours vote for their label, in the disc", "{:.1f} %"),
    "knn_pca2": ("… in 2 principal components", "{:.1f} %"),
    "knn_pca10": ("… in 10 principal components", "{:.1f} %"),
    "majority": ("cells with the commonest label", "{:.1f} %"),
}


def embed(
    file: Annotated[
        Path, typer.Argument(help="Cells: .h5ad, .csv, .parquet, .npz; or the edges of a tree.")
    ],
    target: Annotated[Path, typer.Option("--out", help="Where to write: .h5ad, .npz or .csv.")],
    method: Annotated[
        str, typer.Option(help="neighbours or autoencoder; tree for child,parent edges in a .csv.")
    ] = "neighbours",
    encoder: Annotated[
        Path | None, typer.Option(help="Fit nothing; place the cells with this encoder file.")
    ] = None,
    save_encoder: Annotated[
        Path | None, typer.Option(help="Also write the encoder, so that others can use it.")
    ] = None,
    label: Annotated[
        str | None,
        typer.Option(help="Column (or obs key) of the classes, to judge the embedding."),
    ] = None,
    supervised: Annotated[
        bool, typer.Option("--supervised", help="Use the labels in the fit.")
    ] = False,
    layer: Annotated[str | None, typer.Option(help="Layer of the .h5ad, not X.")] = None,
    use_rep: Annotated[
        str | None, typer.Option(help="Representation in obsm to use instead of genes.")
    ] = None,
    genes: Annotated[int | None, typer.Option(min=2, help="Most variable genes to keep.")] = None,
    steps: Annotated[
        int | None, typer.Option(min=0, help="Steps of the fit; 0 keeps its starting point.")
    ] = None,
    counts: Annotated[
        bool | None, typer.Option("--counts/--no-counts", help="Raw counts or not; default: guess.")
    ] = None,
    curvature: Annotated[float, typer.Option(help="k; the space has curvature −k.")] = 1.0,
    further: Annotated[
        list[str] | None,
        typer.Option("--set", help="NAME=VALUE: a setting of the method, such as n_neighbors=30."),
    ] = None,
    root: Annotated[str | None, typer.Option(help="Root of the tree, if edges run both ways.")] = (
        None
    ),
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Place cells, or the nodes of a tree, in the Poincaré disc."""
    from fedhull.disc.points import check_curvature
    from fedhull.embed.embedder import make_embedder
    from fedhull.embed.embedding import apply_embedding, fit_embedding

    check_target(file, target)
    check_curvature(curvature)
    if method == TREE:
        _embed_tree(file, target, root, curvature, save_encoder, json)
        return
    settings = {"curvature": curvature, "seed": seed, "n_genes": genes, "steps": steps}
    settings |= {"counts": counts}
    cells, labels, write = _read(file, target, label, layer, use_rep)
    if encoder is not None:
        made = apply_embedding(cells, _load_encoder(encoder, supervised), labels, seed)
    else:
        chosen = {name: value for name, value in settings.items() if value is not None}
        chosen |= dict(map(_setting, further or []))
        embedder = make_embedder(method, **chosen)
        with progress_bar(quiet=json) as bar:
            made = fit_embedding(
                cells, embedder, labels, supervised, seed, showing(bar, "embedding: ")
            )
    write(made)
    if save_encoder is not None:
        made.embedder.save(save_encoder)
    if json:
        print_json({"out": str(target), "cells": len(cells)} | made.to_json())
        return
    _show(made, target, save_encoder, label)


def _read(
    file: Path, target: Path, label: str | None, layer: str | None, use_rep: str | None
) -> "tuple[Cells, np.ndarray | None, Callable[[Embedding], None]]":
    """Cells, labels, and what writes the points to where they belong."""
    from fedhull.data.datasets import load_cells
    from fedhull.data.files import open_h5ad, write_h5ad, write_points
    from fedhull.embed.cells import annotate, cells_of, column_of

    if file.suffix != ".h5ad":
        if layer or use_rep:
            raise InvalidInput(f"--layer and --use-rep are for .h5ad files, got {file}")
        cells, labels = load_cells(file, label or "label")
        return cells, labels, lambda made: write_points(target, made.points, labels)
    data = open_h5ad(file)
    labels = None if label is None else column_of(data, label)

    def write(made: "Embedding") -> None:
        if target.suffix != ".h5ad":
            write_points(target, made.points, labels)
            return
        annotate(data, made)
        write_h5ad(data, target)

    return cells_of(data, layer, use_rep), labels, write


def _setting(words: str) -> tuple[str, Any]:
    """A setting's name and value: a number, true, false, or a word."""
    name, equals, value = words.partition("=")
    if not equals:
        raise InvalidInput(f"--set must be NAME=VALUE, got {words!r}")
    try:
        return name, json_module.loads(value)
    except ValueError:
        return name, value


def _load_encoder(path: Path, supervised: bool) -> "CellEmbedder":
    from fedhull.embed.embedder import load_cell_embedder

    if supervised:
        raise InvalidInput("--supervised is for fitting, but the encoder is already fitted")
    return load_cell_embedder(path)


def check_target(file: Path, target: Path) -> None:
    """Everything that can be wrong with where to write, before any work is done."""
    endings = [".npz", ".csv"] + ([".h5ad"] if file.suffix == ".h5ad" else [])
    if target.suffix not in endings:
        raise InvalidInput(f"--out must end in {', '.join(endings)} here, got {target}")
    if not target.parent.is_dir():
        raise InvalidInput(f"--out must be in a folder that exists, but {target.parent} does not")


def _embed_tree(
    file: Path,
    target: Path,
    root: str | None,
    curvature: float,
    save_encoder: Path | None,
    json: bool,
) -> None:
    from fedhull.data.files import write_points
    from fedhull.embed.edges import read_edges
    from fedhull.embed.tree import TreeEmbedder, embed_tree

    edges = read_edges(file)
    tree = embed_tree(edges, root, curvature=curvature)
    write_points(target, tree.points, [str(node) for node in tree.nodes], "node")
    if save_encoder is not None:
        TreeEmbedder(root, tree.edge_length, curvature).fit(edges).save(save_encoder)
    numbers = {
        "out": str(target),
        "method": TREE,
        "nodes": len(tree.nodes),
        "root": str(tree.root),
        "curvature": curvature,
        "edge_length": tree.edge_length,
        "mean_distortion": tree.mean_distortion,
        "worst_distortion": tree.worst_distortion,
    }
    if json:
        print_json(numbers)
        return
    out.print(
        f"{len(tree.nodes):,} nodes, {tree.root} at the origin, an edge is {tree.edge_length:.2f} "
        f"long; a distance is off by a factor of {tree.mean_distortion:.2f} on average, "
        f"{tree.worst_distortion:.1f} at worst.\nWritten to {target}",
    )


def _show(made: "Embedding", target: Path, save_encoder: Path | None, label: str | None) -> None:
    embedder = made.embedder
    preparation = embedder.preparation
    kind = "counts, normalised and log-transformed" if preparation.counts else "taken as they are"
    how = "fitted to these cells" if made.fitted_here else "placed with an encoder fitted before"
    supervision = "; supervised by labels, so accuracies mean little" * embedder.supervised
    out.print(
        f"{len(made.points):,} cells, {len(preparation.genes):,} genes ({kind}); "
        f"{embedder.method}, {how}{supervision}.",
    )
    if made.missing_genes:
        some = ", ".join(made.missing_genes[:5]) + (", …" if len(made.missing_genes) > 5 else "")
        out.print(
            f"{len(made.missing_genes):,} of the encoder's genes are missing and count as not "
            f"expressed: {some}",
            style="yellow",
        )
    table = Table(title="Quality of the embedding", show_header=False)
    for name, (words, form) in _QUALITY.items():
        if name in made.quality:
            table.add_row(words, form.format(made.quality[name]))
    out.print(table)
    written = [str(target)] + ([str(save_encoder)] if save_encoder is not None else [])
    out.print(f"Written: {', '.join(written)}.")
    if save_encoder is not None or not made.fitted_here:
        out.print(f"Encoder: {embedder.hash} (SHA-256)")
    if target.suffix == ".h5ad" and made.fitted_here:
        out.print(
            f"Next: fedhull simulate --dataset {target} --label {label or 'COLUMN'}",
        )
