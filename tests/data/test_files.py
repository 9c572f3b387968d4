"""Files and data sets: every format, and a sentence for whatever is wrong with them."""

import hashlib

import anndata
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from fedhull.data.datasets import download, load_dataset
from fedhull.data.files import check_data, load_file, load_points, read_column
from fedhull.embed.cells import column_of
from fedhull.errors import InvalidInput
from fedhull.simulation.sites import partition

X = np.array([[0.1, 0.2], [0.3, -0.4], [0.0, 0.5]])
Y = ["a", "b", "a"]
DONOR = [1, 1, 2]


@pytest.fixture
def files(tmp_path):
    np.savez(tmp_path / "data.npz", x=X, y=np.array(Y), donor=DONOR)
    lines = ["x,y,label,donor"] + [
        f"{a},{b},{c},{d}" for (a, b), c, d in zip(X, Y, DONOR, strict=True)
    ]
    (tmp_path / "data.csv").write_text("\n".join(lines) + "\n")
    table = pa.table({"x": X[:, 0], "y": X[:, 1], "label": Y, "donor": DONOR})
    pyarrow.parquet.write_table(table, tmp_path / "data.parquet")
    cells = anndata.AnnData(
        X=np.zeros((3, 1)), obs={"label": Y, "donor": DONOR}, obsm={"X_poincare": X}
    )
    cells.write_h5ad(tmp_path / "data.h5ad")
    return tmp_path


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet"])
def test_an_empty_file_is_refused_in_a_sentence(tmp_path, ending):
    (tmp_path / f"empty.{ending}").touch()
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_file(tmp_path / f"empty.{ending}", "label")


@pytest.mark.filterwarnings("ignore::Warning:anndata")
@pytest.mark.parametrize("ending", ["npz", "csv", "parquet", "h5ad"])
def test_every_format_gives_the_same(files, ending):
    path = files / f"data.{ending}"
    x, y = load_file(path, without=["donor"])
    np.testing.assert_array_equal(x, X)
    assert y.tolist() == Y
    assert read_column(path, "donor").tolist() == DONOR
    other_x, other_y = load_file(path, label="donor", without=["label"])
    np.testing.assert_array_equal(other_x, X)
    assert other_y.tolist() == (DONOR if ending != "npz" else Y)


@pytest.mark.parametrize("missing", ["", " ", "nan", "NaN", None, float("nan")])
def test_a_missing_label_is_never_a_class(tmp_path, missing):
    labels = np.array(["a", missing, "b"], dtype=object)
    with pytest.raises(InvalidInput, match=r"1 labels are missing, the first in row 1"):
        check_data(np.zeros((3, 2)), labels, "data")
    cells = anndata.AnnData(X=np.zeros((3, 1)), obs={"type": labels})
    with pytest.raises(InvalidInput, match="labels are missing"):
        check_data(np.zeros((3, 2)), column_of(cells, "type"), "data")


def test_points_without_labels_can_be_read(tmp_path):
    (tmp_path / "points.csv").write_text("x,y\n0.1,0.2\n0.3,0.4\n")
    assert load_points(tmp_path / "points.csv").tolist() == [[0.1, 0.2], [0.3, 0.4]]
    np.savez(tmp_path / "points.npz", x=X)
    assert load_points(tmp_path / "points.npz").tolist() == X.tolist()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("data.txt", "", "must end in .npz"),
        ("nothing.csv", None, "does not exist"),
        ("data.npz", "junk", "cannot be read"),
        ("data.parquet", "junk", "cannot be read"),
        ("data.csv", "x,y\n0.1,0.2\n", "no column 'label'; it has x, y"),
        ("data.csv", "x,label\na,b\n", "must be numbers"),
        ("data.csv", "x,label\n,b\n", "NaN"),
        ("data.csv", "x,label\n", "no points"),
        ("data.csv", "x,label\n0.1,0.5\n0.2,1.5\n", "names or whole numbers, got"),
        ("data.csv", "", "cannot be read"),
    ],
)
def test_a_bad_file_is_refused_in_a_sentence(tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(InvalidInput, match=words):
        load_file(tmp_path / name)


def test_generated_data_sets_have_names_and_unknown_ones_are_refused(monkeypatch):
    monkeypatch.delenv("FEDHULL_DATA_DIR", raising=False)
    assert load_dataset("tree", seed=1)[0].shape == (4000, 2)
    assert set(load_dataset("synthetic")[1].tolist()) == {-1, 1}
    with pytest.raises(InvalidInput, match="dataset must be one of"):
        load_dataset("nothing")
    with pytest.raises(InvalidInput, match="set FEDHULL_DATA_DIR"):
        load_dataset("paul")
    with pytest.raises(InvalidInput, match="lung_human_ask440_counts"):
        load_dataset("lung")


def test_downloads_are_checked_and_kept(tmp_path):
    source = tmp_path / "source.npz"
    source.write_bytes(b"published")
    checksum = hashlib.sha256(b"published").hexdigest()
    target = tmp_path / "cache" / "file.npz"
    with pytest.raises(InvalidInput, match="checksum"):
        download(source.as_uri(), "0" * 64, target)
    assert not target.exists()
    assert download(source.as_uri(), checksum, target).read_bytes() == b"published"
    source.unlink()
    assert download(source.as_uri(), checksum, target) == target
    with pytest.raises(InvalidInput, match="cannot be downloaded"):
        download(source.as_uri(), checksum, tmp_path / "other.npz")


def test_partitions_cover_all_clients_and_keep_classes_whole():
    y = np.repeat([0, 1, 2], [300, 30, 3])
    iid = partition(y, 3, "iid", seed=0)
    for label in range(3):
        counts = np.bincount(iid[y == label], minlength=3)
        assert counts.max() - counts.min() <= 1
    skewed = partition(y, 5, "dirichlet:0.1", seed=0)
    assert np.bincount(skewed[y == 0], minlength=5).max() > 150
    assert skewed.min() >= 0
    assert skewed.max() <= 4
    assert (partition(y, 5, "dirichlet:0.1", seed=0) == skewed).all()
    for wrong in ("", "dirichlet", "dirichlet:0", "dirichlet:x", "half"):
        with pytest.raises(InvalidInput, match="partition must be"):
            partition(y, 3, wrong)
