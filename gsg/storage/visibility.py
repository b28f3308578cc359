"""What each reader sees of the tuples under one key that are there for named readers.

The same tuple may be there for everybody, and for several audiences at once: its *variants*. A reader sees it while any variant is
there that it may read, and so hears of it when the first of them comes and the last of them goes. Of the others it hears nothing.

    seen by p  =  there for everybody, or for an audience that names p

Each reader's view counts the variants, so what a change costs does not depend on how many there are. Where several peers tell of
one tuple (:mod:`gsg.feeds.union`), the latest word counts: a view is as late as the latest change that its reader could have heard
of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from functools import partial

from ..tuples.audiences import Audience, Restricted
from ..tuples.long_constants import Remains, remains_of
from ..tuples.terms import Tuple


class View:
    """What one reader sees of one tuple by its restricted variants."""

    __slots__ = ("buried", "present", "stamp")

    def __init__(self) -> None:
        self.present = 0
        """Variants that are there and name the reader."""
        self.buried = 0
        """Those of which it is remembered that they went."""
        self.stamp = 0
        """When the latest came, or the moment after it went."""


class Variants:
    """The restricted variants under one key. Bounded by the facts and tombstones there are, and MAX_READERS of each."""

    __slots__ = ("_views",)

    def __init__(self) -> None:
        self._views: defaultdict[Remains, defaultdict[bytes, View]] = defaultdict(partial(defaultdict, View))
        """By what remains, or would, of the plain tuple, and by reader."""

    def __bool__(self) -> bool:
        return bool(self._views)

    def note_present(self, fact: Restricted, stamp: int, *, is_new: bool) -> None:
        """A variant is there; ``is_new``: it was not."""
        views = self._views[_plain(fact)]
        for view in map(views.__getitem__, fact.audience):
            view.present += is_new
            view.stamp = max(view.stamp, stamp)

    def note_gone(self, fact: Restricted, stamp: int, *, was_there: bool, buried: bool) -> None:
        """A variant is not there; ``buried``: it is remembered from now on that it went."""
        views = self._views[_plain(fact)]
        for view in map(views.__getitem__, fact.audience):
            view.present -= was_there
            view.buried += buried
            view.stamp = max(view.stamp, stamp + 1)
        self._tidy(fact, views)

    def note_forgotten(self, fact: Restricted) -> None:
        """It is not remembered any more that a variant went."""
        views = self._views[_plain(fact)]
        for reader in fact.audience:
            if reader in views:
                views[reader].buried -= 1
        self._tidy(fact, views)

    def _tidy(self, fact: Restricted, views: dict[bytes, View]) -> None:
        for reader in fact.audience:
            view = views.get(reader)
            if view is not None and not view.present and not view.buried:
                del views[reader]
        if not views:
            self._views.pop(_plain(fact), None)

    def view(self, fact: Tuple, reader: bytes) -> View | None:
        """What a reader sees of a plain tuple; None where no variant names it."""
        views = self._views.get(remains_of(fact))
        return None if views is None else views.get(reader)

    def names(self, reader: bytes) -> bool:
        """Whether any variant is there for a reader."""
        return any((view := views.get(reader)) is not None and view.present for views in self._views.values())

    def visible(self, facts: Collection[Tuple], reader: bytes) -> Iterator[Tuple]:
        """What a reader sees of the facts under the key, variants included: each tuple once, as a plain one."""
        variants: dict[Tuple, None] = {}
        for fact in facts:
            if not isinstance(fact, Restricted):
                yield fact
            elif reader in fact.audience:
                variants[tuple(fact)] = None
        yield from (fact for fact in variants if fact not in facts)


def _plain(fact: Restricted) -> Remains:
    return tuple(remains_of(fact))


class Seen:
    """One variant has come or gone, by now; what that is to each reader.

    ``for_all`` says how the same tuple stands for everybody: whether it is there, and its stamp as in :attr:`View.stamp`.
    """

    __slots__ = ("_audience", "_for_all", "_is_there", "_sign", "_stamp", "_variants", "fact")

    def __init__(self, fact: Tuple, sign: int, stamp: int, variants: Variants | None, for_all: tuple[bool, int]) -> None:
        self.fact: Tuple = tuple(fact)
        """As readers are told."""
        self._audience: Audience | None = fact.audience if isinstance(fact, Restricted) else None
        self._sign = sign
        self._stamp = stamp
        self._variants = variants
        self._is_there, self._for_all = for_all

    @property
    def readers(self) -> Audience:
        """Whom the variant names; nobody where it is there for everybody."""
        return frozenset() if self._audience is None else self._audience

    def by(self, reader: bytes, *, among_several: bool) -> tuple[int, int]:
        """The sign that a reader is to be told, or 0 for nothing, and the stamp.

        ``among_several``: the latest word of several peers counts. A reader that sees the tuple before and after is told again that
        it is there, by a later stamp: else it would believe a peer that knows no more than that something went.
        """
        audience = self._audience
        if audience is not None and reader not in audience:
            return 0, 0
        view = None if self._variants is None else self._variants.view(self.fact, reader)
        present = 0 if view is None else view.present
        if audience is None:
            still = present > 0
        else:
            still = self._is_there or present - (self._sign > 0) > 0
        sign = self._sign
        if still:
            if not among_several:
                return 0, 0
            sign = 1
        latest = max(self._stamp + (self._sign < 0), self._for_all, 0 if view is None else view.stamp)
        return sign, latest if sign > 0 else latest - 1
