"""The errors of the simulation.

    SimulationError
    ├── BadParameter        a run that was asked for makes no sense
    ├── BadRow              a row that was to be written makes no tuple
    ├── BadSpool            what a stream has kept on a disk is not there, damaged, in use, or of another stream
    ├── BadWorkload         a file of tuples or subscriptions cannot be read
    ├── JobFailed           Spark began, and gave up
    ├── NoSpark             Spark, or the Java that it needs, is not there
    └── NotTaken            peers did not take what a task wrote

Messages are of one line, and say what was expected.
"""

from __future__ import annotations


class SimulationError(Exception):
    """Anything that this package raises on purpose."""


class BadParameter(SimulationError):
    """A number, name or combination that no run can have."""


class BadRow(SimulationError):
    """A row that was to be written to peers, of which no tuple can be made; the message says which, and why."""


class NotTaken(SimulationError):
    """What a task of Spark wrote was not taken by peers in time, or will not be."""


class BadSpool(SimulationError):
    """The folder in which a stream keeps what it has received cannot be used."""


class BadWorkload(SimulationError):
    """A file that is not there, cannot be read, or holds nothing of use."""


class NoSpark(SimulationError):
    """Spark cannot be started here; the message says what is missing and how to get it."""


class JobFailed(SimulationError):
    """A job ended on Spark without a result; the message is the first line of what Spark says."""


def check_range(value: int, least: int, most: int, what: str) -> None:
    """Raises BadParameter for a number of something that is below ``least`` or above ``most``."""
    if not least <= value <= most:
        raise BadParameter(f"{value} {what}; expected {least} to {most}")
