"""fedhull: one classifier over hierarchical data that several sites hold and may not pool.

Everything public is importable from here and loaded when first used, so that `import fedhull`
alone is quick and compiles nothing. The list is in ``__init__.pyi``.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
