"""The propositions of three worlds, how the policies of `examples/` define them, and rules over them.

A proposition is true or false of one action. Its truth is a formula over the facts of the example's policy, so that the
definition stays in one place. The rules are those of the examples with propositions instead of quantifiers, since a labeler
answers questions without variables. All speak of the past, so that each step is judged by itself. With `after: reset`, which
some examples have, one wrong label would move all findings after it.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple

# Those that TRAC's rules name.
PACKAGES = [1, 2, 3, 5, 6, 10, 11, 15, 16, 18, 19, 20]
AREAS = [1, 2, 3, 4]
PLACES = [1, 2, 3]
ORDERS = [(2, 1), (3, 2), (6, 5), (11, 10), (16, 15), (19, 18), (20, 19)]


class Proposition(NamedTuple):
    """A question about an action, and what decides it."""

    group: str
    truth: str
    statement: str


class World(NamedTuple):
    """What is asked in a world, and which rules depend on it."""

    propositions: Dict[str, Proposition]
    rules: Dict[str, str]


def make_trucks() -> World:
    asked: Dict[str, Proposition] = {}
    for area in AREAS:
        name = f'"a{area}"'
        asked[f"load_a{area}"] = Proposition("load_aN", f"load_into(_, {name})", f"a package is loaded into area a{area}")
        asked[f"unload_a{area}"] = Proposition(
            "unload_aN", f"unload_from(_, {name})", f"a package is unloaded from area a{area}"
        )
    for number in PACKAGES:
        name = f'"package{number}"'
        asked[f"load_package{number}"] = Proposition(
            "load_packageN", f"load({name})", f"package{number} is loaded into the truck"
        )
        asked[f"unload_package{number}"] = Proposition(
            "unload_packageN", f"(unload_from({name}, _) or take_out({name}))", f"package{number} is unloaded"
        )
        asked[f"deliver_package{number}"] = Proposition(
            "deliver_packageN", f"deliver({name})", f"package{number} is delivered"
        )
    for place in PLACES:
        name = f'"l{place}"'
        asked[f"deliver_l{place}"] = Proposition(
            "deliver_lN", f"deliver_at(_, {name})", f"a package is delivered at l{place}"
        )
        asked[f"drive_l{place}"] = Proposition("drive_lN", f"drive_to({name})", f"the truck drives to l{place}")

    rules: Dict[str, str] = {}
    for area in AREAS[:-1]:
        deeper = " or ".join(f"load_a{other}" for other in AREAS if other > area)
        rules[f"loads-only-up-to-a{area}"] = f"always not ({deeper})"
    for first, second in ORDERS:
        rules[f"package{first}-before-package{second}"] = (
            f"always (deliver_package{second} implies previous once deliver_package{first})"
        )
    for number in PACKAGES:
        rules[f"package{number}-loaded-once"] = (
            f"always (load_package{number} implies not previous once load_package{number})"
        )
        rules[f"package{number}-unloaded-before-delivery"] = (
            f"always (deliver_package{number} implies previous once unload_package{number})"
        )
    for area in AREAS:
        taken = f"previous (not unload_a{area} since load_a{area})"
        rules[f"a{area}-free-when-loaded"] = f"always (load_a{area} implies not {taken})"
        for verb in ("load", "unload"):
            deeper = " or ".join(f"{verb}_a{other}" for other in AREAS if other > area)
            if deeper:
                rules[f"a{area}-free-when-deeper-{verb}ed"] = f"always (({deeper}) implies not {taken})"
    drives = " or ".join(f"drive_l{place}" for place in PLACES)
    for place in PLACES:
        there = f"(not ({drives}) since drive_l{place})"
        # The truck starts at l3.
        there = f"({there} or not once ({drives}))" if place == 3 else there
        rules[f"truck-at-l{place}-when-delivering"] = f"always (deliver_l{place} implies {there})"
    return World(asked, rules)


def make_textworld() -> World:
    asked = {
        "take": ("take", "an item is taken"),
        "take_knife": ('take("knife")', "the knife is taken"),
        "examine": ("examine", "an item is examined"),
        "cut": ("cut", "something is chopped, sliced or diced"),
        "drop": ("drop", "something is dropped"),
        "go": ("go", "the agent goes to another place"),
    }
    within_four = " or ".join(f"{number * 'previous '}cut" for number in range(4))
    rules = {
        "examine-what-was-taken": "always (previous take implies examine)",
        "knife-is-used": f"always ({4 * 'previous '}take_knife implies ({within_four}))",
        "nothing-is-dropped": "always not drop",
        "stay-in-the-kitchen": "always not go",
    }
    return World({name: Proposition(name, *rest) for name, rest in asked.items()}, rules)


def make_scienceworld() -> World:
    asked = {
        "open_door": ("open_door", "a door is opened"),
        "go": ("go", "the agent goes to another place"),
        "look_around": ("look_around", "the agent looks around"),
        "go_elsewhere": ("go_elsewhere", "the agent goes to a place other than living room, kitchen and hallway"),
        "measure_b": ("measure_b", "the thermometer is used on substance B"),
        "box_b": ("box_b", "substance B is put into a box"),
    }
    rules = {
        "go-through-opened-doors": "always (previous open_door implies go)",
        "look-around-after-going": "always (previous go implies look_around)",
        "look-once": "always (look_around implies not previous look_around)",
        "known-rooms-only": "always not go_elsewhere",
        "measure-before-boxing": "always (box_b implies previous once measure_b)",
    }
    return World({name: Proposition(name, *rest) for name, rest in asked.items()}, rules)


WORLDS: Dict[str, World] = {"trucks": make_trucks(), "textworld": make_textworld(), "scienceworld": make_scienceworld()}


def list_groups(world: World) -> Dict[str, List[str]]:
    """Returns the propositions of each group, in their order."""
    groups: Dict[str, List[str]] = {}
    for name, proposition in world.propositions.items():
        groups.setdefault(proposition.group, []).append(name)
    return groups
