"""Principal axes from sums of products, and corrections for how a site measures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from strategies import examples

from fedhull.embed.cells import Cells
from fedhull.embed.features import (
    FEWEST_TO_CORRECT,
    Axes,
    Products,
    Standardisation,
    choose_genes,
    corrected,
)
from fedhull.errors import InvalidInput

GENES = [f"G{i}" for i in range(40)]


def make_cells(n=300, seed=0):
    rng = np.random.default_rng(seed)
    profiles = rng.gamma(0.5, 4.0, (3, len(GENES)))
    return Cells(rng.poisson(profiles[rng.integers(3, size=n)]), GENES)


def test_axes_are_those_of_a_principal_component_analysis_of_the_cells_themselves():
    cells = make_cells()
    standard = choose_genes(cells, 30)
    axes = Products.of(standard.preparation, cells).scaled(standard).axes(6)
    oracle = PCA(6, svd_solver="full").fit(standard.standardised(cells))
    # an axis has no direction of its own
    signs = np.sign((axes.components * oracle.components_).sum(axis=1))
    np.testing.assert_allclose(axes.components, signs[:, None] * oracle.components_, atol=1e-8)
    n = len(cells)
    np.testing.assert_allclose(axes.variance, oracle.explained_variance_ * (n - 1) / n)
    features = axes.features(standard, cells)
    np.testing.assert_allclose(features.mean(axis=0), axes.mean, atol=1e-9)
    np.testing.assert_allclose(features.var(axis=0), axes.variance)


def test_counts_far_from_the_mean_are_clipped():
    x = np.full((400, 3), 5)
    x[:6, 0] = 90
    x[::2, 1] += 3
    standard = choose_genes(Cells(x, list("abc")), 3)
    assert standard.standardised(Cells(x, list("abc"))).max() <= 10.0


@examples(20)
@given(seed=st.integers(0, 1000), how=st.sampled_from(["centre", "scale"]))
def test_what_a_site_adds_to_all_its_cells_makes_no_difference_after_a_correction(seed, how):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(80, 4))
    axes = Axes(np.eye(4), rng.normal(size=4), rng.random(4) + 0.5)
    scale = rng.random(4) + 0.5 if how == "scale" else np.ones(4)
    measured = features * scale + rng.normal(size=4)
    np.testing.assert_allclose(
        corrected(measured, axes, how), corrected(features, axes, how), atol=1e-9
    )
    np.testing.assert_allclose(corrected(features, axes, how).mean(axis=0), axes.mean, atol=1e-9)


def test_too_few_cells_cannot_be_corrected_and_unknown_corrections_are_refused():
    axes = Axes(np.eye(2), np.zeros(2), np.ones(2))
    with pytest.raises(InvalidInput, match=f"at least {FEWEST_TO_CORRECT} cells of the site"):
        corrected(np.ones((3, 2)), axes, "centre")
    with pytest.raises(InvalidInput, match="correction must be one of none, centre, scale"):
        corrected(np.ones((60, 2)), axes, "combat")
    assert corrected(np.ones((3, 2)), axes, "none").tolist() == np.ones((3, 2)).tolist()


@examples(20)
@given(seed=st.integers(0, 1000))
def test_products_of_what_cells_express_give_those_of_scaled_cells_whatever_the_scaling(seed):
    cells, rng = make_cells(seed=seed), np.random.default_rng(seed)
    preparation = choose_genes(cells, 30).preparation
    mean, deviation = rng.random(30) * 3, rng.random(30) + 0.1
    standard = Standardisation(preparation, mean, deviation)
    scaled = Products.of(preparation, cells).scaled(standard)
    z = (preparation.apply(cells) - mean) / deviation
    assert scaled.cells == len(z)
    np.testing.assert_allclose(scaled.sums, z.sum(axis=0), atol=1e-6)
    np.testing.assert_allclose(scaled.products, z.T @ z, atol=1e-4)
