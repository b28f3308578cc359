"""What a user is told of files that were read: lines that hold no tuple, quads, and files that are none of tuples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ...engine.warnings_told import counted, files_ignored, malformed
from ..pieces import EXAMPLES
from .columns import Complaint


@dataclass(slots=True)
class Seen:
    """What there was besides tuples."""

    malformed: int = 0
    examples: list[str] = field(default_factory=list)
    """The first malformed lines, EXAMPLES at most."""
    graphs: int = 0
    """Quads that were taken without the name of their graph."""
    ignored: Sequence[str] = ()
    """Files of a folder that are none of tuples by name."""

    def count(self, name: str, malformed: int, examples: Iterable[Complaint], graphs: int) -> None:
        """What there was in a further part of a file."""
        self.malformed += malformed
        self.graphs += graphs
        for line, problem in examples:
            if len(self.examples) < EXAMPLES:
                self.examples.append(f"{name} line {line}: {problem}" if line else f"{name}: {problem}")

    def first(self) -> str:
        """The first malformed line in brackets, where nothing else was found."""
        return f" ({self.malformed} malformed lines, the first: {self.examples[0]})" if self.malformed else ""

    def said(self) -> list[str]:
        """What a user should know, a sentence each."""
        quads = [f"{counted(self.graphs, 'quad')} taken without the name of the graph: triples alone are simulated"]
        return [
            *malformed(self.malformed, "line", self.examples),
            *(quads if self.graphs else []),
            *files_ignored(self.ignored, "tuples", EXAMPLES),
        ]
