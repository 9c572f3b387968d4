"""NVIDIA FLARE's federated SVM: every site sends its support vectors, the server fits an SVM to all
of them. The server's part is FLARE's own class, a site's that of FLARE's example."""

from time import perf_counter
from typing import Any

import numpy as np

from fedhull.errors import InvalidInput, MissingExtra
from fedhull_lab.bench.peers.cells import Deal
from fedhull_lab.bench.peers.measured import Measured, Method, Options, share_right

KERNEL = "rbf"


def flare_svm(deal: Deal, options: Options) -> Measured:
    """One round of the example, sites one after the other, each message serialised by FLARE."""
    trial, x, y = deal.trial, deal.trial.flat, deal.trial.content.y
    # names as numbers: FLARE's serialisation takes arrays of numbers
    names, numbers = np.unique(y, return_inverse=True)
    begin = perf_counter()
    sent = [support_vectors(x[rows], numbers[rows]) for rows in deal.sites]
    messages = [message_of(*vectors) for vectors in sent if vectors is not None]
    model = assemble(messages)
    found = names[model.predict(x[trial.test])]
    seconds = perf_counter() - begin
    share = sum(len(vectors[1]) for vectors in sent if vectors is not None) / len(trial.train)
    most = max(map(len, messages))
    return Measured(share_right(found, deal), trial.test, 1, 1, most, seconds, share)


def support_vectors(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """A site's support vectors and their classes; None if it has cells of one class only, which no
    SVM can be fitted to, so that the site has nothing to send."""
    from sklearn.svm import SVC

    if len(np.unique(y)) < 2:
        return None
    which = SVC(kernel=KERNEL).fit(x, y).support_
    return x[which], y[which]


def message_of(x: np.ndarray, y: np.ndarray) -> bytes:
    """A site's message, as FLARE serialises it."""
    fobs, flare = _flare()
    dxo = flare["DXO"](flare["DataKind"].WEIGHTS, data={"support_x": x, "support_y": y})
    packed: bytes = fobs.dumps(dxo.to_shareable())
    return packed


def assemble(messages: list[bytes]) -> Any:
    """The SVM that sites end up with: FLARE's assembler picks the support vectors of an SVM over
    all that were sent, and each site fits an SVM to these."""
    from sklearn.svm import SVC

    if not messages:
        raise InvalidInput("no site has cells of two classes: there are no support vectors")
    fobs, flare = _flare()
    assembler = flare["SVMAssembler"](kernel=KERNEL)
    for i, message in enumerate(messages):
        dxo = flare["from_shareable"](fobs.loads(message))
        assembler.collection[f"site-{i + 1}"] = assembler.get_model_params(dxo)
    context = flare["FLContext"]()
    context.set_prop(flare["AppConstants"].CURRENT_ROUND, 0)
    made = assembler.assemble(assembler.collection, context).data
    return SVC(kernel=KERNEL).fit(made["support_x"], made["support_y"])


def _flare() -> tuple[Any, dict[str, Any]]:
    try:
        from nvflare.apis.dxo import DXO, DataKind, from_shareable
        from nvflare.apis.fl_context import FLContext
        from nvflare.app_common.app_constant import AppConstants
        from nvflare.app_common.decomposers import numpy_decomposers
        from nvflare.app_opt.sklearn.svm_assembler import SVMAssembler
        from nvflare.fuel.utils import fobs
    except ImportError:
        raise MissingExtra("this row needs NVIDIA FLARE: pip install 'fedhull[nvflare]'") from None
    numpy_decomposers.register()
    classes = (DXO, DataKind, FLContext, AppConstants, SVMAssembler)
    return fobs, {c.__name__: c for c in classes} | {"from_shareable": from_shareable}


FLARE = Method(
    "NVIDIA FLARE, one-shot SVM",
    "support vectors: cells in clear",
    False,
    "nvflare",
    "pip install nvflare",
    flare_svm,
)
