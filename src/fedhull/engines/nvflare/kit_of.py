"""Where the kit is, for the processes that FLARE starts."""

import os

from nvflare.apis.fl_context import FLContext

from fedhull.kits.kit import Kit

KIT_VARIABLE = "FEDHULL_KIT"


def kit_of(fl_ctx: FLContext) -> Kit:
    """The kit that `fedhull` was started with; with FLARE's own tools, the workspace."""
    return Kit.open(
        os.environ.get(KIT_VARIABLE) or fl_ctx.get_engine().get_workspace().get_root_dir()
    )
