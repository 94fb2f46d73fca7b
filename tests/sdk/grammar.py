"""How the fakes understand a command line: by the contract of a release, as plain JSON, and no word that it lacks."""


class Refused(Exception):
    """The tool says that it knows no such thing."""


def spelled(flags, word):
    """Long name and entry of the flag that a word spells, with the value that is joined to it."""
    name, equals, value = word.partition("=")
    for long, flag in flags.items():
        if name in (long, flag.get("short"), *flag.get("aliases", ())):
            return long, flag, value if equals else None
    short = next((long for long, flag in flags.items() if flag.get("short") == word[:2] and flag.get("takes")), None)
    return (short, flags[short], word[2:]) if short and not word.startswith("--") else (None, None, None)


def parse(flags, words, positionals):
    """Long name -> value (True for a switch), and the other words. `positionals`: how many of them there may be, None: any."""
    given, others, words = {}, [], list(words)
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            others.append(word)
            continue
        long, flag, value = spelled(flags, word)
        if flag is None:
            raise Refused(word.lstrip("-").partition("=")[0])
        if not flag.get("takes"):
            if value is not None:
                raise Refused(f"{long} takes no value")
            given[long] = True
            continue
        if value is None and not words:
            raise Refused(f"{long} without a value")
        given[long] = value if value is not None else words.pop(0)
        while flag.get("more") and words and not words[0].startswith("-"):
            words.pop(0)
        if flag.get("values") and given[long] not in flag["values"]:
            raise Refused(f"{long} {given[long]}")
    if positionals is not None and len(others) != positionals:
        raise Refused(f"{len(others)} files instead of {positionals}")
    return given, others


def value(given, flags, name):
    """What a flag was given, else its default."""
    return given.get(name, flags[name].get("default"))
