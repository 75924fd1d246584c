"""What a network's wires must be: known names, equal types, nothing missing, no cycle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from .block import Kind
from .component import Component, check_names


def sources_of(components: Mapping[str, Component], wires: Mapping[str, str]) -> dict[str, Kind]:
    """Return the type of everything a wire may come from, components' outputs and controls.

    Raises ValueError for a wire to or from what is not there, or between different types. A
    source without a dot is a control, and has the type of the inputs that it goes to.
    """
    inputs = {
        f"{name}.{port}": kind
        for name, component in components.items()
        for port, kind in component.inputs.items()
    }
    sources: dict[str, Kind] = {
        f"{name}.{port}": kind
        for name, component in components.items()
        for port, kind in component.outputs.items()
    }
    fed: dict[str, str] = {}
    for target, source in wires.items():
        if target not in inputs:
            raise ValueError(f"no input {target!r}; {_hint(target, inputs)}")
        if not isinstance(source, str) or not source:
            raise ValueError(f"the wire to {target!r} must name its source, got {source!r}")
        if "." not in source:
            check_names("a network's controls", (source,))
            sources.setdefault(source, inputs[target])
            fed.setdefault(source, target)
        elif source not in sources:
            raise ValueError(f"no output {source!r} for {target!r}; {_hint(source, sources)}")
        if sources[source] != inputs[target]:
            also = f", as {fed[source]!r} is" if source in fed else ""
            raise ValueError(
                f"{target!r} is a {inputs[target]}, and cannot be wired to {source!r}, "
                f"a {sources[source]}{also}"
            )
    for target in inputs:
        component, port = target.split(".")
        if target not in wires and port not in components[component].defaults:
            raise ValueError(f"the input {target!r} must be wired, got nothing")
    return sources


def ordered(
    components: Mapping[str, Component], wires: Mapping[str, str], results: Iterable[str]
) -> tuple[str, ...]:
    """Return the components' names, each after all that it takes from; refuse a cycle.

    One result after the other, so that what is between is soon done with; what none needs, last.
    """
    needs: dict[str, list[str]] = {name: [] for name in components}
    for target, source in wires.items():
        if "." in source:
            needs[target.split(".")[0]].append(source.split(".")[0])
    done: dict[str, None] = {}
    wanted = [source.split(".")[0] for source in results if "." in source]
    for first in (*wanted, *components):
        path, pending = [first], [iter(needs[first])]
        while path and first not in done:
            before = next((name for name in pending[-1] if name not in done), None)
            if before is None:
                done[path.pop()] = None
                pending.pop()
            elif before in path:
                cycle = [*path[path.index(before) :], before]
                raise ValueError(
                    f"a network must not have a cycle, got {' → '.join(reversed(cycle))}"
                )
            else:
                path.append(before)
                pending.append(iter(needs[before]))
    return tuple(done)


def unknown(what: str, name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """Return the words about a name that is not among those that exist."""
    return f"no {what} {name!r}; {_hint(name, known)}"


def _hint(name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    close = get_close_matches(str(name), list(known))
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    return f"{meant}there are {', '.join(known) or 'none'}"
