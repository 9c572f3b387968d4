"""Types and building blocks for packages that extend fedhull, loaded when first used.

The list is in ``extend.pyi`` and in docs/api.md; docs/extending.md has recipes. `VERSION` is that
of this interface: it grows by one whenever a name is taken away or changes in a way that could
break a package, and the changelog says how to follow. Names may be added at any time.
"""

import lazy_loader

VERSION = 1

# the names stand in all of fedhull, not below this module
__getattr__, __dir__, _names = lazy_loader.attach_stub("fedhull", __file__)
__all__ = ["VERSION", *_names]
