import os

ALIASES = {"inf2": "trn1", "gen2": "trn1", "gen3": "trn2", "gen4": "trn3"}


def _normalize_target(target):
    return ALIASES.get(target, target)


def resolve_target(_function, target):
    target = target or os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE")
    if not target:
        raise RuntimeError("No Neuron device found. Set NEURON_PLATFORM_TARGET_OVERRIDE.")
    return _normalize_target(target)
