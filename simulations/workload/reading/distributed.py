"""A workload whose tuples stay with Spark: the driver has the constants, and the samples that it asks for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...engine.kernels import Whole
from ..workload import ARITY, Chunk, Constants, Mix, Recorded, Subscriptions, Times, subscriptions_to
from .blocks import blocks_of, chosen_of, chunks_of_blocks
from .seen import Seen

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

CHOSEN_SCHEMA = "places binary, codes binary"
ASKED = 1 << 21
"""Tuples that are asked for by one job: their numbers travel with it, 16 MiB. More are asked for one part after the other."""
KEPT_SAMPLES = 4
"""Samples that the driver keeps, the last ones asked for: each strategy looks at the same."""
KEPT_TUPLES = 1 << 20
"""The largest sample that is kept: 12 MiB."""


@dataclass(frozen=True, eq=False)
class Distributed:
    """Tuples that Spark read and keeps, published evenly in their order.

    Those of a number are the same as where :class:`Recorded` has them, and have the same codes.
    """

    spark: SparkSession
    blocks: DataFrame
    """Rows of BLOCK_SCHEMA, one for each block of tuples, kept by Spark on disks. Tasks make chunks of them by :meth:`chunks`."""
    tuples: int
    constants: tuple[Constants, ...]
    seen: Seen
    """What else there was in the files."""
    seconds: float
    _samples: OrderedDict[bytes, Chunk] = field(default_factory=OrderedDict, repr=False)

    @property
    def chunks(self) -> Callable[[pyarrow.RecordBatch], Iterator[Chunk]]:
        """What makes chunks of a batch of blocks; it can be sent to tasks, as this workload cannot."""
        return partial(chunks_of_blocks, spacing_s=self.seconds / self.tuples)

    def chunk(self, begin: int, count: int) -> Chunk:
        """Tuples ``begin`` to ``begin + count``, fetched."""
        return self.at(np.arange(begin, min(self.tuples, begin + count)))

    def at(self, numbers: Whole) -> Chunk:
        """The tuples of these numbers, fetched by a job."""
        name = numbers.astype(np.int64).tobytes() if len(numbers) <= KEPT_TUPLES else b""
        found = self._samples.get(name) if name else None
        if found is None:
            parts = [self._fetched(numbers[begin : begin + ASKED]) for begin in range(0, len(numbers), ASKED)]
            columns = np.concatenate(parts, axis=1) if parts else np.zeros((ARITY, 0), dtype=np.int32)
            found = Chunk(tuple(columns), lambda: self.published_s(numbers))
            if name:
                self._samples[name] = found
                if len(self._samples) > KEPT_SAMPLES:
                    self._samples.popitem(last=False)
        return found

    def thinned(self, tuples: int) -> Recorded:
        """So many of its tuples, evenly from all of it, in the driver. Codes stay."""
        codes = tuple(column.astype(np.int32) for column in self.at(np.arange(tuples) * self.tuples // tuples).codes)
        facts = [np.bincount(column, minlength=len(of.keys)) for column, of in zip(codes, self.constants, strict=True)]
        constants = tuple(Constants(of.keys, count) for of, count in zip(self.constants, facts, strict=True))
        return Recorded(codes, constants, self.seconds)

    def published_s(self, numbers: Whole) -> Times:
        """When the tuples of these numbers are published."""
        return numbers * np.float64(self.seconds / self.tuples)

    def subscriptions(self, count: int, mix: Mix, seed: int) -> Subscriptions:
        """Constants of tuples chosen at random, where the mix says. Raises BadParameter for a mix with bounds."""
        return subscriptions_to(self, count, mix, seed)

    def release(self) -> None:
        """Give up what Spark keeps; a job that needs it all the same reads the files again."""
        self.blocks.unpersist()

    def _fetched(self, numbers: Whole) -> NDArray[np.int32]:
        """Codes by position, shape (positions, numbers)."""
        wanted, which = np.unique(numbers, return_inverse=True)

        def choose(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            import pyarrow

            for batch in batches:
                found = [chosen_of(block, wanted) for block in blocks_of(batch)]
                data = [[array.tobytes() for array in pair] for pair in found if len(pair[0])]
                columns = [pyarrow.array([pair[at] for pair in data], pyarrow.binary()) for at in range(2)]
                yield pyarrow.RecordBatch.from_arrays(columns, names=["places", "codes"])

        table = self.blocks.mapInArrow(choose, CHOSEN_SCHEMA).toArrow()
        codes = np.empty((ARITY, len(wanted)), dtype=np.int32)
        for places, found in zip(*(column.to_pylist() for column in table.columns), strict=True):
            codes[:, np.frombuffer(places, np.int64)] = np.frombuffer(found, np.int32).reshape(ARITY, -1)
        return codes[:, which]
