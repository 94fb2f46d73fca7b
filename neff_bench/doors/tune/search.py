"""Makes variants of one kernel: the values that vary, and which combination of them is tried next."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from neff_bench.doors.subject import value_of
from neff_bench.errors import WrongCall
from neff_bench.installation import pip_install

if TYPE_CHECKING:
    from optuna.trial import Trial

Choices = Mapping[str, tuple[Any, ...]]
Combination = tuple[Any, ...]

_AGAIN = 20
"""How often the search may propose what was tried already, before one is drawn at random."""


def choices_of(words: Sequence[str]) -> Choices:
    """Return the values by name from words such as `TILE_N=128,256,512` and `BUFS=1:4`, which is 1, 2, 3 and 4. Raises `WrongCall`."""
    choices: dict[str, tuple[Any, ...]] = {}
    for word in words:
        name, _equals, values = word.partition("=")
        if not name.isidentifier() or not values:
            raise WrongCall(f"--vary {word!r}: expected NAME=VALUE,VALUE or NAME=FIRST:LAST, such as TILE_N=128,256")
        if name in choices:
            raise WrongCall(f"--vary {name} stands twice; give all its values at once")
        first, colon, last = values.partition(":")
        if colon and first.isdigit() and last.isdigit():
            choices[name] = tuple(range(int(first), int(last) + 1))
        else:
            choices[name] = tuple(dict.fromkeys(map(value_of, values.split(","))))
        if not choices[name]:
            raise WrongCall(f"--vary {word}: no value lies between {first} and {last}")
    return choices


class Search:
    """Holds which combinations are tried: all of a grid of at most `trials`, else those that a tree-structured Parzen estimator proposes.

    Each is proposed when it is wanted, from all results until then. Raises `WrongCall` where a search needs Optuna and there is none.
    """

    def __init__(self, choices: Choices, trials: int, seed: int) -> None:
        self.choices = choices
        self.grid = list(itertools.product(*choices.values()))
        self.count = min(trials, len(self.grid))
        self._results: dict[Combination, float] = {}
        self._open: dict[Combination, Trial] = {}
        self._chance = random.Random(seed)
        self._study: Any = self._new_study(seed) if self.count < len(self.grid) else None

    def _new_study(self, seed: int) -> Any:
        try:
            import optuna
        except ModuleNotFoundError:
            more = f"raise --trials to {len(self.grid)}, or {pip_install('tune')}"
            raise WrongCall(
                f"a grid larger than --trials is searched by Optuna, which is not installed: {more}"
            ) from None
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
        return optuna.create_study(sampler=sampler)

    def __iter__(self) -> Iterator[Combination]:
        if self._study is None:
            yield from self.grid
            return
        for _ in range(self.count):
            yield self._proposed()

    def tell(self, combination: Combination, time_us: float | None) -> None:
        """Say how long a combination takes; None where it is no good."""
        result = float("inf") if time_us is None else time_us
        self._results[combination] = result
        if self._study is not None:
            self._study.tell(self._open.pop(combination), result)

    def _proposed(self) -> Combination:
        """Return a combination that was not tried."""
        for _ in range(_AGAIN):
            trial, combination = self._asked()
            if combination not in self._results and combination not in self._open:
                self._open[combination] = trial
                return combination
            self._study.tell(trial, self._results.get(combination, float("inf")))
        left = [one for one in self.grid if one not in self._results and one not in self._open]
        places = {name: self.choices[name].index(value) for name, value in zip(self.choices, self._chance.choice(left))}
        self._study.enqueue_trial(places)
        trial, combination = self._asked()
        self._open[combination] = trial
        return combination

    def _asked(self) -> tuple[Trial, Combination]:
        trial = self._study.ask()
        return trial, tuple(self._chosen(trial, name) for name in self.choices)

    def _chosen(self, trial: Trial, name: str) -> Any:
        """Return the value that a trial proposes. Numbers have an order, which the search may use; words have none."""
        values = self.choices[name]
        if all(isinstance(value, (int, float)) for value in values):
            return values[trial.suggest_int(name, 0, len(values) - 1)]
        return values[trial.suggest_categorical(name, range(len(values)))]
