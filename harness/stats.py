"""Intervals, paired tests and sample sizes for scores of the same questions, in [0, 1]; what is resampled is a group of them.

Questions that share evidence tell less than as many that don't, so groups are the units throughout: a question that shares none
is a group of its own. scipy has the distributions; weighing groups is left to us.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from statistics import NormalDist

import numpy as np

from harness.ranking import FloatArray
from harness.records import IntArray

CONFIDENCE = 0.95
SIGNIFICANCE = 0.05
POWER = 0.8
FEW_GROUPS = 20  # below, an interval or a test is unreliable
RESAMPLES = 9_999
FOR_EACH = 100  # resamples for each of many comparisons: of these 5 fall below a level of 5 %, divided by their number
BLOCK = 2_048  # resamples at a time
TOLERANCE = 1e-9  # of sums and means of scores that are equal but for rounding


@dataclass(frozen=True)
class Interval:
    """A two-sided confidence interval."""

    low: float
    high: float
    confidence: float = CONFIDENCE


def numbered(groups: list[str]) -> IntArray:
    """Groups by number, for each question that of its group; shape (n,)."""
    return np.unique(np.array(groups, dtype=str), return_inverse=True)[1].astype(np.int64)


def few(groups: IntArray) -> bool:
    """Whether so few groups are there that what is said of them is unreliable."""
    return len(np.unique(groups)) < FEW_GROUPS


def mean_interval(values: FloatArray, groups: IntArray, confidence: float = CONFIDENCE) -> Interval | None:
    """Of a mean of scores in [0, 1], both of shape (n,): Wilson's interval; None for fewer than two groups.

    Of hits of questions that share nothing, Wilson's own (1927). Else at the number of independent questions that they are
    worth: Kish's effective size, corrected for the degrees of freedom (Korn and Graubard 1998).
    """
    number, of = len(values), len(np.unique(groups))
    if of < 2:
        return None
    mean = float(values.mean())
    binary = bool(np.isin(values, (0.0, 1.0)).all())
    size = float(number)
    if not (binary and of == number):
        size = _effective_size(mean, _standard_error(values - mean, groups), of, confidence)
        size = min(size, number) if binary else size
    return Interval(*_wilson(mean, size, confidence), confidence)


def _effective_size(mean: float, error: float, groups: int, confidence: float) -> float:
    """How many independent questions some are worth; where nothing varies, as many as there are groups."""
    if error == 0 or not 0 < mean < 1:
        return float(groups)
    return mean * (1 - mean) / error**2 * (_normal(confidence) / _student(confidence, groups - 1)) ** 2


def _wilson(share: float, size: float, confidence: float) -> tuple[float, float]:
    # scipy has it for whole numbers of questions only.
    z = _normal(confidence)
    middle = (share + z**2 / (2 * size)) / (1 + z**2 / size)
    half = z / (1 + z**2 / size) * math.sqrt(share * (1 - share) / size + z**2 / (4 * size**2))
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return (0.0 if share == 0 else low), (1.0 if share == 1 else high)


def difference_interval(differences: FloatArray, groups: IntArray, confidence: float = CONFIDENCE) -> Interval | None:
    """Of the mean of paired differences in [-1, 1], both of shape (n,); None for fewer than two groups.

    Of hits, Agresti and Min's (2005): of two questions more, half a one won, half a one lost, one the same; so it has a width
    also where no question differs. Of groups: of two of mean size more. Of other scores, Student's, groups drawn as a whole.
    """
    sums, sizes = _sums(differences, groups), _sums(np.ones(len(differences)), groups)
    if len(sums) < 2:
        return None
    number, mean = float(sizes.sum()), float(differences.mean())
    error = _standard_error(differences - mean, groups)
    if error == 0 or np.isin(differences, (-1.0, 0.0, 1.0)).all():
        typical = float(sizes.mean())
        number += 2 * typical
        mean = float(sums.sum()) / number
        spread = float(((sums - mean * sizes) ** 2).sum())
        error = math.sqrt(spread + typical**2 * (0.5 * (1 - mean) ** 2 + 0.5 * (1 + mean) ** 2 + mean**2)) / number
    half = _student(confidence, len(sums) - 1) * error
    return Interval(max(-1.0, mean - half), min(1.0, mean + half), confidence)


def _sums(values: FloatArray, groups: IntArray) -> FloatArray:
    return np.bincount(np.unique(groups, return_inverse=True)[1], weights=values).astype(np.float64)


def _standard_error(deviations: FloatArray, groups: IntArray) -> float:
    """Of a mean, from its values' deviations, groups being drawn as a whole (Taylor linearisation); 0 but for rounding is 0."""
    sums = _sums(deviations, groups)
    error = math.sqrt(len(sums) / (len(sums) - 1) * float((sums**2).sum())) / len(deviations)
    return error if error > TOLERANCE else 0.0


def _normal(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _student(confidence: float, freedom: int) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + confidence) / 2, freedom))


def worse(differences: FloatArray, groups: IntArray, seed: int, comparisons: int = 1) -> FloatArray:
    """One-sided p-values that each of m candidates scores below another; differences of shape (n, m), candidate minus other.

    Hits of questions that share nothing: McNemar's exact test. Else signs of whole groups are flipped, all ways where these are
    few, at random from the seed where they are not; often enough that p-values can be corrected for so many comparisons.
    """
    from scipy.stats import binom

    if len(np.unique(groups)) == len(groups) and np.isin(differences, (-1.0, 0.0, 1.0)).all():
        won, lost = (differences > 0).sum(axis=0), (differences < 0).sum(axis=0)
        return np.asarray(binom.cdf(won, won + lost, 0.5), dtype=np.float64)
    sums = np.stack([_sums(column, groups) for column in differences.T], axis=1)
    sums = sums[np.abs(sums).max(axis=1) > 0] if sums.size else sums
    observed = sums.sum(axis=0) + TOLERANCE
    resamples = max(RESAMPLES, FOR_EACH * comparisons)
    if 2 ** len(sums) <= resamples:
        every = np.array(list(product((-1.0, 1.0), repeat=len(sums)))).reshape(2 ** len(sums), len(sums))
        return np.asarray((every @ sums <= observed).mean(axis=0), dtype=np.float64)
    rng = np.random.default_rng(seed)
    as_low = np.zeros(differences.shape[1])
    for at in range(0, resamples, BLOCK):
        signs = rng.choice((-1.0, 1.0), size=(min(BLOCK, resamples - at), len(sums)))
        as_low += (signs @ sums <= observed).sum(axis=0)
    return np.asarray((as_low + 1) / (resamples + 1), dtype=np.float64)


def either(differences: FloatArray, groups: IntArray, seed: int) -> float:
    """Two-sided p-value that a candidate scores otherwise than another; differences of shape (n,)."""
    return float(each_either(differences[:, None], groups, seed)[0])


def each_either(differences: FloatArray, groups: IntArray, seed: int) -> FloatArray:
    """The same of m candidates, none corrected for the others; differences of shape (n, m)."""
    below, above = (worse(sign * differences, groups, seed) for sign in (1, -1))
    return np.asarray(np.minimum(1.0, 2 * np.minimum(below, above)), dtype=np.float64)


def _distance(significance: float, power: float) -> float:
    """How many standard errors a loss must have for a one-sided test to see it so often."""
    return NormalDist().inv_cdf(1 - significance) + NormalDist().inv_cdf(power)


def questions_needed(differences: FloatArray, groups: IntArray, significance: float, power: float = POWER) -> int | None:
    """About how many questions a candidate's loss, as it was seen, would be seen with as one-sided test; shape (n,).

    None where it does not lose: no number would show it. The usual normal approximation.
    """
    loss, number = -float(differences.mean()), len(differences)
    if loss <= TOLERANCE or len(np.unique(groups)) < 2:
        return None
    z = _distance(significance, power)
    error = _standard_error(differences + loss, groups)
    return max(number + 1, math.ceil(number * (z * error / loss) ** 2))


def detectable(differences: FloatArray, groups: IntArray, significance: float, power: float = POWER) -> float | None:
    """About the least mean loss that such a test would see, with questions that vary as these do; None where nothing varies."""
    if len(np.unique(groups)) < 2:
        return None
    z = _distance(significance, power)
    error = _standard_error(differences - float(differences.mean()), groups)
    return z * error or None


def least_rate(hits: int, of: int, confidence: float = CONFIDENCE) -> float:
    """One-sided exact lower bound of a rate (Clopper and Pearson 1934)."""
    from scipy.stats import binomtest

    return float(binomtest(hits, of, alternative="greater").proportion_ci(confidence, "exact").low)
