"""`fedhull embed`: points in the disc from a matrix of counts or a tree."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table
from typer import Argument, Option

from fedhull.cli.console import (
    JsonFlag,
    check_target,
    missing_genes,
    note,
    out,
    print_json,
    progress_bar,
    showing,
)
from fedhull.cli.options import CurvatureOption, SeedOption
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
        Path, Argument(help="Cells: .h5ad, .csv, .parquet, .npz; or the edges of a tree.")
    ],
    target: Annotated[Path, Option("--out", help="File to write: .h5ad, .npz or .csv.")],
    method: Annotated[
        str, Option(help="neighbours or autoencoder; tree for child,parent edges in a .csv.")
    ] = "neighbours",
    encoder: Annotated[
        Path | None, Option(help="Fit nothing; place the cells with this encoder file.")
    ] = None,
    save_encoder: Annotated[
        Path | None, Option(help="Also write the encoder to this file.")
    ] = None,
    label: Annotated[
        str | None, Option(help="Column (or obs key) of the classes, to assess the embedding.")
    ] = None,
    supervised: Annotated[bool, Option("--supervised", help="Use the labels in the fit.")] = False,
    layer: Annotated[str | None, Option(help="Layer of the .h5ad to use instead of X.")] = None,
    use_rep: Annotated[
        str | None, Option(help="Representation in obsm to use instead of genes.")
    ] = None,
    genes: Annotated[int | None, Option(min=2, help="Most variable genes to keep.")] = None,
    steps: Annotated[
        int | None, Option(min=0, help="Steps of the fit; 0 keeps its starting point.")
    ] = None,
    counts: Annotated[
        bool | None, Option("--counts/--no-counts", help="Raw counts; guessed by default.")
    ] = None,
    curvature: CurvatureOption = 1.0,
    further: Annotated[
        list[str] | None,
        Option("--set", help="NAME=VALUE: a setting of the method, such as n_neighbors=30."),
    ] = None,
    root: Annotated[str | None, Option(help="Root of the tree, if edges run both ways.")] = (None),
    seed: SeedOption = 0,
    json: JsonFlag = False,
) -> None:
    """Place cells, or the nodes of a tree, in the Poincaré disc."""
    from fedhull.disc.points import check_curvature
    from fedhull.embed.embedder import make_embedder
    from fedhull.embed.embedding import apply_embedding, fit_embedding

    check_target(target, endings_for(file))
    check_curvature(curvature)
    if method == TREE:
        _embed_tree(file, target, root, curvature, save_encoder, json)
        return
    cells, labels, write = _read(file, target, label, layer, use_rep)
    if encoder is not None:
        embedding = apply_embedding(cells, _load_encoder(encoder, supervised), labels, seed)
    else:
        settings = {"n_genes": genes, "steps": steps, "counts": counts}
        chosen = {name: value for name, value in settings.items() if value is not None}
        chosen |= {"curvature": curvature, "seed": seed} | dict(map(_setting, further or []))
        embedder = make_embedder(method, **chosen)
        with progress_bar(quiet=json) as bar:
            embedding = fit_embedding(
                cells, embedder, labels, supervised, seed, showing(bar, "embedding: ")
            )
    write(embedding)
    if save_encoder is not None:
        embedding.embedder.save(save_encoder)
    if json:
        print_json({"out": str(target), "cells": len(cells)} | embedding.to_json())
        return
    _show(embedding, target, save_encoder, label)


def _read(
    file: Path, target: Path, label: str | None, layer: str | None, use_rep: str | None
) -> "tuple[Cells, np.ndarray | None, Callable[[Embedding], None]]":
    """Cells, labels, and the function that writes the points."""
    from fedhull.data.datasets import load_cells
    from fedhull.data.files import open_h5ad, write_h5ad, write_points
    from fedhull.embed.cells import annotate, cells_of, column_of

    if file.suffix != ".h5ad":
        if layer or use_rep:
            raise InvalidInput(f"--layer and --use-rep are for .h5ad files, got {file}")
        cells, labels = load_cells(file, label or "label")
        return cells, labels, lambda embedding: write_points(target, embedding.points, labels)
    data = open_h5ad(file)
    labels = None if label is None else column_of(data, label)

    def write(embedding: "Embedding") -> None:
        if target.suffix != ".h5ad":
            write_points(target, embedding.points, labels)
            return
        annotate(data, embedding)
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


def endings_for(file: Path) -> list[str]:
    """Endings of the files that the points of this one can be written to."""
    return [".npz", ".csv"] + ([".h5ad"] if file.suffix == ".h5ad" else [])


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
    if json:
        measured = ("edge_length", "mean_distortion", "worst_distortion")
        numbers = {"nodes": len(tree.nodes), "root": str(tree.root), "curvature": curvature}
        numbers |= {name: getattr(tree, name) for name in measured}
        print_json({"out": str(target), "method": TREE} | numbers)
        return
    out.print(
        f"{len(tree.nodes):,} nodes, {tree.root} at the origin, an edge is {tree.edge_length:.2f} "
        f"long; a distance is off by a factor of {tree.mean_distortion:.2f} on average, "
        f"{tree.worst_distortion:.1f} at worst.\nWritten to {target}"
    )


def _show(
    embedding: "Embedding", target: Path, save_encoder: Path | None, label: str | None
) -> None:
    embedder = embedding.embedder
    preparation = embedder.preparation
    kind = "counts, normalised and log-transformed" if preparation.counts else "taken as they are"
    how = (
        "fitted to these cells" if embedding.fitted_here else "placed with an encoder fitted before"
    )
    supervision = "; supervised by labels, so accuracies mean little" * embedder.supervised
    out.print(
        f"{len(embedding.points):,} cells, {len(preparation.genes):,} genes ({kind}); "
        f"{embedder.method}, {how}{supervision}."
    )
    if embedding.missing_genes:
        note(missing_genes(embedding.missing_genes, len(preparation.genes)))
    table = Table(title="Quality of the embedding", show_header=False)
    for name, (words, form) in _QUALITY.items():
        if name in embedding.quality:
            table.add_row(words, form.format(embedding.quality[name]))
    out.print(table)
    written = [str(target)] + ([str(save_encoder)] if save_encoder is not None else [])
    out.print(f"Written: {', '.join(written)}.")
    if save_encoder is not None or not embedding.fitted_here:
        out.print(f"Encoder: {embedder.hash} (SHA-256)")
    if target.suffix == ".h5ad" and embedding.fitted_here:
        out.print(f"Next: fedhull simulate --dataset {target} --label {label or 'COLUMN'}")
