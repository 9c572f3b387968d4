"""Files that libraries write: the old one or the new one, never half of it."""

import pytest

from fedhull.disk import replacing
from fedhull.errors import InvalidInput


def test_a_file_is_replaced_once_it_is_whole(tmp_path):
    target = tmp_path / "cells.h5ad"
    target.write_text("old")
    with replacing(target) as part:
        assert part.suffix == ".h5ad"
        part.write_text("new")
        assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["cells.h5ad"]
    assert target.read_text() == "new"


def test_what_fails_half_way_leaves_the_old_file_alone(tmp_path):
    target = tmp_path / "cells.h5ad"
    target.write_text("old")
    with pytest.raises(TypeError), replacing(target) as part, part.open("w") as file:
        file.writelines(["ha", None])
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]
    with pytest.raises(InvalidInput, match="cannot be written: No space left"), replacing(target):
        raise OSError(28, "No space left on device")
