"""A kit comes from somebody else, and people start `fedhull` in it: nothing may lie there that a
library would run or be set up by."""

from pathlib import Path

from fedhull.errors import InvalidInput

_CODE = {".py", ".pyc", ".pyd", ".pth", ".so", ".dylib", ".dll"}
# read from the folder that a program is started in; Numba's names a folder of compiled functions,
# and loading these runs code
_SETTINGS_OF_LIBRARIES = {".numba_config.yaml", "matplotlibrc"}


def refuse_code(folder: Path) -> None:
    """InvalidInput if the kit in a folder holds code beside its known files."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if (
            path.suffix in _CODE
            or path.name in _SETTINGS_OF_LIBRARIES
            or (path / "__init__.py").exists()
        ):
            raise not_part_of_a_kit(path)


def not_part_of_a_kit(path: Path) -> InvalidInput:
    """The sentence about a file that fedhull does not know."""
    return InvalidInput(
        f"{path} is not part of a kit: fedhull runs nothing from a kit and takes none with files "
        f"that it does not know; move it away, and ask where it comes from"
    )
