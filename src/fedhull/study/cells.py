"""The cells that a site takes into an encoder study."""

from pathlib import Path

from fedhull.data.files import open_h5ad
from fedhull.embed.cells import Cells, cells_of
from fedhull.errors import InvalidInput
from fedhull.study.task import Source


def load_cells_of_site(source: Source) -> Cells:
    """The cells of a file."""
    from fedhull.data.datasets import load_cells  # slow to import, and studies of hulls do without

    data, layer = source.data, source.layer
    if Path(data).suffix == ".h5ad":
        if not Path(data).is_file():
            raise InvalidInput(f"{data} does not exist")
        return cells_of(open_h5ad(data), layer)
    if layer is not None:
        raise InvalidInput(f"--layer is for .h5ad files, not for {data}")
    return load_cells(data, label=source.label)[0]
