"""Relations as DataFrames of Spark: the same operations, on as much history as a cluster holds.

A relation has columns ``c0``, ``c1``, ... of terms, in the bytes that travel between peers, whose equality is the terms'; and
``came`` and ``went``. A join is one on equal columns where intervals overlap; unions of intervals and the gaps between them are
windows over the intervals of equal tokens in order. Tests that read several facts are made by our own evaluator (mapInArrow);
those of one fact, and constants, are looked at where a line is read, so that Java sees nothing else.

What is read, and a relation that is used twice, is kept by Spark, in memory and beyond that on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import repeat
from typing import TYPE_CHECKING, Any

import msgspec

import rete
from gsg.tuples.terms import Term, n3
from rete.algebra import Test
from rete.chain import JoinSpec
from rete.operators.operator import Places
from rete.operators.pair_join import Pairing

from ..engine.spark import shares_files
from ..errors import BadWorkload
from .changes import read_piece
from .history import History, Seen, Sieve
from .intervals import FOREVER

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

MAX_CACHED = 100_000
"""Terms that a task keeps decoded; at the limit all are forgotten and it begins again."""
MOST_TASKS = 1_000
"""Tasks that read, at most; one of them then reads several pieces."""
SCHEMA = "at long, time double, sign int, fact array<binary>, alphas array<int>, seen binary"


@dataclass(frozen=True, slots=True)
class Relation:
    """Tokens of so many columns, and their intervals."""

    frame: DataFrame
    width: int

    @property
    def names(self) -> list[str]:
        """The columns of a token."""
        return [f"c{place}" for place in range(self.width)]


class OnSpark:
    """The engine. ``facts`` has the columns ``fact``, ``alphas`` (the numbers of its memories), ``came`` and ``went``."""

    def __init__(self, spark: SparkSession, facts: DataFrame, memories: Sequence[rete.AlphaSpec]) -> None:
        from pyspark.sql import functions

        self._spark = spark
        self._facts = facts
        self._numbers = {alpha: number for number, alpha in enumerate(memories)}
        self._f = functions

    def always(self) -> Relation:
        lit = self._f.lit
        return Relation(self._spark.range(1, numPartitions=1).select(lit(-FOREVER).alias("came"), lit(FOREVER).alias("went")), 0)

    def joined(self, left: Relation, spec: JoinSpec) -> Relation:
        f = self._f
        places = (*spec.fact_key, *spec.new)
        known = self._facts.filter(f.array_contains("alphas", self._numbers[spec.alpha]))
        columns = [f.col("fact")[place].alias(f"c{at}") for at, place in enumerate(places)]
        right = Relation(known.select(*columns, "came", "went"), len(places))
        key = range(len(spec.fact_key))
        return self._overlaps(left, spec.token_key, right, key, range(len(key), len(places)))

    def paired(self, left: Relation, right: Relation, pairing: Pairing) -> Relation:
        mine, theirs = [one for one, _ in pairing.key], [other for _, other in pairing.key]
        return self._overlaps(left, mine, right, theirs, pairing.new)

    def _overlaps(
        self, left: Relation, token_key: Sequence[int], right: Relation, right_key: Sequence[int], new: Sequence[int]
    ) -> Relation:
        f = self._f
        col = f.col
        # Names of the other side, so that a relation can be joined with itself.
        renamed = [col(f"c{place}").alias(f"r{place}") for place in sorted({*right_key, *new})]
        other = right.frame.select(*renamed, col("came").alias("begins"), col("went").alias("ends"))
        agree = [col(f"c{one}") == col(f"r{another}") for one, another in zip(token_key, right_key, strict=True)]
        overlap = (col("came") < col("ends")) & (col("begins") < col("went"))
        pairs = left.frame.join(other, reduce(lambda one, another: one & another, agree, overlap))
        columns = [col(f"r{place}").alias(f"c{left.width + at}") for at, place in enumerate(new)]
        begin, end = f.greatest("came", "begins").alias("came"), f.least("went", "ends").alias("went")
        return Relation(pairs.select(*left.names, *columns, begin, end), left.width + len(columns))

    def passed(self, relation: Relation, test: Test, places: Places) -> Relation:
        return Relation(relation.frame.mapInArrow(_passing(test, places), relation.frame.schema), relation.width)

    def columns(self, relation: Relation, places: Places) -> Relation:
        chosen = [self._f.col(f"c{place}").alias(f"c{at}") for at, place in enumerate(places)]
        return Relation(relation.frame.select(*chosen, "came", "went"), len(chosen))

    def merged(self, relation: Relation) -> Relation:
        from pyspark.sql import Window

        f = self._f
        of_token = self._window(relation).orderBy("came", "went")
        so_far = f.max("went").over(of_token.rowsBetween(Window.unboundedPreceding, -1))
        begun = relation.frame.withColumn("begins", f.coalesce(f.col("came") > so_far, f.lit(True)).cast("int"))
        numbered = begun.withColumn("union", f.sum("begins").over(of_token.rowsBetween(Window.unboundedPreceding, 0)))
        union = numbered.groupBy(*relation.names, "union").agg(f.min("came").alias("came"), f.max("went").alias("went"))
        return Relation(union.drop("union"), relation.width)

    def asked(self, relation: Relation, places: Places) -> Relation:
        if not places:
            # To ask when nobody wants to know does no harm, and a row without columns is none of Spark's.
            return self.always()
        chosen = self.columns(relation, places)
        lit = self._f.lit
        distinct = chosen.frame.select(*chosen.names).distinct()
        return Relation(distinct.withColumns({"came": lit(-FOREVER), "went": lit(FOREVER)}), chosen.width)

    def gaps(self, relation: Relation, asked: Relation) -> Relation:
        f = self._f
        # An interval of no length before all others: what is asked about begins with a gap.
        before = asked.frame.withColumn("went", f.lit(-FOREVER))
        union = self.merged(Relation(relation.frame.unionByName(before), relation.width))
        following = f.lead("came", 1, FOREVER).over(self._window(union).orderBy("came"))
        found = union.frame.withColumn("following", following).filter(f.col("went") < f.col("following"))
        return Relation(found.select(*union.names, f.col("went").alias("came"), f.col("following").alias("went")), union.width)

    def kept(self, relation: Relation) -> Relation:
        from pyspark.storagelevel import StorageLevel

        # Cuts the plan too, which would double with every NOT of a query, and with it the way to make rows again that are lost with
        # an executor: where there may be others, one of them has them too.
        level = StorageLevel.MEMORY_AND_DISK if shares_files(self._spark) else StorageLevel.MEMORY_AND_DISK_2
        return Relation(relation.frame.localCheckpoint(eager=False, storageLevel=level), relation.width)

    def _window(self, relation: Relation) -> Any:  # Any: pyspark names its WindowSpec differently with and without a server
        from pyspark.sql import Window

        return Window.partitionBy([*map(self._f.col, relation.names), self._f.lit(0)])


def _passing(test: Test, places: Places) -> Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    def passing(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        terms = _Decoded()
        for batch in batches:
            columns = [
                [None] * len(batch) if place is None else [terms.of(item) for item in batch.column(f"c{place}").to_pylist()]
                for place in places
            ]
            # A test may read nothing at all.
            tokens = zip(*columns, strict=True) if columns else repeat((), len(batch))
            yield batch.filter(pyarrow.array([bool(test(values)) for values in tokens], pyarrow.bool_()))

    return passing


def _encoded(term: Term) -> bytes:
    # A function, since what tasks call must be found by its name: they cannot be sent an encoder.
    return msgspec.msgpack.encode(term)


class _Decoded:
    """Terms from their bytes; each is looked at once."""

    def __init__(self) -> None:
        self._decode = msgspec.msgpack.Decoder(Term).decode
        self._terms: dict[bytes, Term] = {}

    def of(self, data: bytes) -> Term:
        found = self._terms.get(data)
        if found is None:
            if len(self._terms) >= MAX_CACHED:
                self._terms.clear()
            found = self._terms[data] = self._decode(data)
        return found


@dataclass(frozen=True, slots=True)
class Scan:
    """A history that was read: the changes that some memory admits (kept by Spark), what else there was, and how many changes
    concern each memory."""

    changes: DataFrame
    seen: Seen
    counts: tuple[int, ...]


def scan(spark: SparkSession, history: History, memories: Sequence[rete.AlphaSpec], *, partitions: int | None = None) -> Scan:
    """Read all pieces, each by one task. Raises BadWorkload where one cannot be read."""
    all_pieces = history.pieces

    def reading(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        sieve = Sieve(memories)
        for batch in batches:
            for number in batch.column(0).to_pylist():
                seen, counts = Seen(), [0] * len(memories)
                for changes in read_piece(all_pieces[number], seen):
                    admitted = [(change, found) for change in changes if (found := sieve(change.fact))]
                    for _, found in admitted:
                        for memory in found:
                            counts[memory] += 1
                    yield _batch([(*change[:3], list(map(_encoded, change.fact)), found, None) for change, found in admitted])
                yield _batch([(None, None, None, None, None, msgspec.msgpack.encode((seen, counts)))])

    pieces = len(all_pieces)
    cut = partitions or min(pieces, MOST_TASKS)
    changes = spark.range(0, pieces, 1, cut).mapInArrow(reading, SCHEMA).persist()
    decode = msgspec.msgpack.Decoder(tuple[Seen, list[int]]).decode
    seen, counts = Seen(), [0] * len(memories)
    # Pieces are cut in order, and their rows come in order.
    for row in changes.filter("seen is not null").select("seen").collect():
        one, found = decode(row[0])
        seen.add(one)
        counts = [sum(both) for both in zip(counts, found, strict=True)]
    if seen.failure:
        changes.unpersist()
        raise BadWorkload(seen.failure)
    return Scan(changes, seen, tuple(counts))


def _batch(rows: list[tuple[Any, ...]]) -> pyarrow.RecordBatch:  # Any: the columns of SCHEMA, one after the other
    import pyarrow

    types = {
        "at": pyarrow.int64(),
        "time": pyarrow.float64(),
        "sign": pyarrow.int32(),
        "fact": pyarrow.list_(pyarrow.binary()),
        "alphas": pyarrow.list_(pyarrow.int32()),
        "seen": pyarrow.binary(),
    }
    columns = zip(*rows, strict=True) if rows else repeat((), len(types))
    arrays = [pyarrow.array(column, kind) for column, kind in zip(columns, types.values(), strict=True)]
    return pyarrow.RecordBatch.from_arrays(arrays, names=list(types))


def truth_of(changes: DataFrame) -> DataFrame:
    """When each fact holds, as :func:`simulations.replay.intervals.truth_of` has it."""
    from pyspark.sql import Window, functions

    col = functions.col
    of_fact = Window.partitionBy("fact").orderBy("time", "at")
    following = functions.lead("time").over(of_fact)
    last = changes.filter("sign is not null").withColumn("following", following)
    last = last.filter(col("following").isNull() | (col("following") > col("time")))
    turned = last.withColumn("before", functions.lag("sign", 1, -1).over(of_fact)).filter("before != sign")
    intervals = turned.withColumn("went", functions.lead("time", 1, FOREVER).over(of_fact)).filter("sign = 1")
    return intervals.select("fact", "alphas", col("time").alias("came"), "went")


def stays_of(relation: Relation, names: Sequence[str]) -> DataFrame:
    """The rows as a subscriber sees them come and go (see :func:`simulations.replay.intervals.copies`).

    Columns are ``?name`` with a term's text for each name, and ``came`` and ``went``, null for what has no beginning or no end.
    """
    from pyspark.sql import Window, functions

    col, when, names_of_token = functions.col, functions.when, relation.names
    ends = functions.explode(
        functions.array(
            functions.struct(col("came").alias("time"), functions.lit(1).alias("sign")),
            functions.struct(col("went").alias("time"), functions.lit(-1).alias("sign")),
        )
    )
    changes = relation.frame.select(*names_of_token, ends.alias("end")).select(*names_of_token, "end.time", "end.sign")
    net = changes.groupBy(*names_of_token, "time").agg(functions.sum("sign").alias("net"))
    copies = functions.explode(functions.sequence(functions.lit(1), functions.abs("net")))
    each = net.filter("net != 0").select(*names_of_token, "time", (col("net") > 0).alias("comes"), copies)
    of_row = Window.partitionBy(*names_of_token, "comes").orderBy("time")
    numbered = each.withColumn("copy", functions.row_number().over(of_row))
    paired = numbered.groupBy(*names_of_token, "copy").agg(
        functions.max(when(col("comes"), col("time"))).alias("came"),
        functions.max(when(~col("comes"), col("time"))).alias("went"),
    )
    shown = [when(functions.abs(name) < FOREVER, col(name)).alias(name) for name in ("came", "went")]
    columns = [f"`?{name}` string" for name in names]
    schema = ", ".join([*columns, "came double", "went double"])
    return paired.select(*names_of_token, *shown).mapInArrow(_written([f"?{name}" for name in names]), schema)


def _written(columns: list[str]) -> Callable[[Iterator[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    def written(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        terms = _Decoded()
        for batch in batches:
            texts = [
                pyarrow.array([n3(terms.of(item)) for item in batch.column(f"c{place}").to_pylist()], pyarrow.string())
                for place in range(len(columns))
            ]
            arrays = [*texts, batch.column("came"), batch.column("went")]
            yield pyarrow.RecordBatch.from_arrays(arrays, names=[*columns, "came", "went"])

    return written
