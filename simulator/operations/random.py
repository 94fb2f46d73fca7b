"""Random numbers. The engines' generators are not published: what depends on their sequence is refused."""

from __future__ import annotations

import numpy as np

from neff_bench.simulator.machine.operands import Operands


def dropout(o: Operands) -> None:
    """Zeros with probability `prob`; modelled where that is certain: 0 keeps all, 1 drops all."""
    data = o.raw("data")
    probability = np.asarray(o.per_partition("prob", data), np.float32)
    if not np.isin(probability, (0, 1)).all():
        o.refuse("the engine's random sequence is not published; only prob 0 and 1 are modelled")
    dropped = np.broadcast_to(probability == 1, data.shape)
    word = f"u{data.dtype.itemsize}"
    o.write_bits("dst", np.where(dropped, np.zeros((), word), data.view(word)).view(data.dtype))


def set_rng_seed(o: Operands) -> None:
    o.registers.random["seed"] = o.raw("src_seeds").copy()


def rand_set_state(o: Operands) -> None:
    o.registers.random[o.engine] = o.raw("src_seeds").copy()


def rand_get_state(o: Operands) -> None:
    """The state that was set: no modelled instruction advances it."""
    state = o.registers.random.get(o.engine)
    if state is None:
        o.refuse(f"the {o.engine} generator was never seeded")
    o.write_bits("dst", state)


OPERATIONS = {
    "dropout": dropout,
    "set_rng_seed": set_rng_seed,
    "rand_set_state": rand_set_state,
    "rand_get_state": rand_get_state,
}
