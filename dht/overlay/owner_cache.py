"""Which peers own a key, remembered from lookups, without I/O.

A lookup of target T that found its k closest peers, the farthest at distance D, knows *every* peer within D of T. With l the
common prefix length of T and that farthest peer, all peers that share more than l bits with T are within D: a whole subtree is
known. For any key K of the subtree that holds at least r peers, the r closest to K are in it (whatever is outside is farther from K
than all that is inside), so one lookup answers for every key of the region. If fewer than k were found, it is the whole network.

    learn(target, its k closest)   a region begins, or is renewed
    owners(key, r)                 from the region that holds the key, exact; None when a lookup is needed
    forget(peer)                   a dead peer leaves every region, which stays complete
    discovered(contact)            a living peer enters the regions that it falls into

Of one address block only the ``per_block`` closest own a key, as in lookups (:mod:`dht.datagrams.address_blocks`).
What no one tells us, a peer that joined far away, is found when the region is learned again: :meth:`Regions.stale`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise

from ..datagrams.address_blocks import PER_BLOCK, block_of, limit_per_block
from ..identity.contacts import Contact
from ..identity.ids import ID_BITS, PeerId, as_int

MAX_REGIONS = 4096
"""Regions remembered at most (a network of 40,000 peers); the one learned longest ago is dropped for a new one."""

MAX_CACHED_KEYS = 131_072
"""Beginnings of keys whose owners are remembered at most, for each r in use; beyond, all are dropped and found again."""

THIN = 8
"""A subtree with fewer peers than this may not answer for r of them: the target itself is remembered as a region of one key."""


class _Region:
    """All peers of the subtree of ``depth`` leading bits, or all those within ``reach`` of the one key ``prefix`` at full depth."""

    __slots__ = ("all_count", "bits", "depth", "full", "learned_s", "members", "prefix", "reach", "target")

    def __init__(self, target: bytes, depth: int, reach: int, full: int, members: dict[int, Contact], now: float) -> None:
        self.target = as_int(target)
        self.depth = depth
        self.prefix = self.target >> (ID_BITS - depth)
        self.reach = reach
        # From this many members on, the region no longer holds what it claims, or is better split: it is dropped.
        self.full = full
        self.members = members
        self.all_count = all(block_of(contact.host) is None for contact in members.values())
        """Whether no member is in a block of which only some own a key."""
        self.bits = depth
        """So many leading bits of a key decide whether it is of this region, and in what order the members are closest to it."""
        self.update_bits()
        self.learned_s = now

    def update_bits(self) -> None:
        """There are other members than before."""
        # Which of two members is closer is decided by the first bit in which they differ. In order of their ids, those beside each
        # other share the most.
        if self.depth < ID_BITS:
            points = sorted(self.members)
            self.bits = max([self.depth, *(ID_BITS + 1 - (one ^ other).bit_length() for one, other in pairwise(points))])

    def holds(self, peer: int) -> bool:
        if self.depth == ID_BITS:
            return peer ^ self.target <= self.reach
        return peer >> (ID_BITS - self.depth) == self.prefix


class Regions:
    """The owner cache of one peer, for lookups that find ``k`` peers."""

    def __init__(self, k: int, per_block: int = PER_BLOCK) -> None:
        self._k = k
        self._per_block = per_block
        # depth -> prefix -> region, and the same regions in the order learned. Bounded by MAX_REGIONS.
        self._by_depth: dict[int, dict[int, _Region]] = {}
        self._ordered: dict[tuple[int, int], _Region] = {}
        self._paths: list[tuple[int, dict[int, _Region]]] = []
        # r -> beginning of a key -> owners. Bounded by MAX_CACHED_KEYS for each r; emptied at any change of a region.
        self._cached: dict[int, dict[bytes, tuple[Contact, ...]]] = {}
        # The same answers by themselves: each is one object, however many beginnings have it. Emptied with them.
        self._answers: dict[tuple[Contact, ...], tuple[Contact, ...]] = {}
        # Leading bytes of a key that decide who owns it, where no region is of that key alone. It only grows: regions come and go.
        self._deciding = 0
        self.version = 0
        """Higher whenever an answer given before may be another one now: whoever remembers answers forgets them."""
        self.usual_depth = 0
        """Leading bits of the subtree learned last: about how many bits of a key decide which region it falls into."""

    def __len__(self) -> int:
        return len(self._ordered)

    def owners(self, key: bytes, r: int) -> tuple[Contact, ...] | None:
        """The ``r`` peers closest to the key, closest first, or None when only a lookup can tell.

        Fewer than ``r`` come back only when the whole network has fewer. Keys with the same answer get the same object, mostly.
        """
        cached = self._cached.get(r)
        if cached is None:
            cached = self._cached[r] = {}
        start = key[: self._deciding]
        found = cached.get(start)
        if found is None:
            if self._is_alone(key):
                # What is known of this key holds for no other: the thin subtree around it may not answer.
                start = key
            found = cached.get(start) or self._closest(key, r)
            if found is not None:
                if len(cached) >= MAX_CACHED_KEYS:
                    cached.clear()
                    self._answers.clear()
                cached[start] = found = self._answers.setdefault(found, found)
        return found

    def _is_alone(self, key: bytes) -> bool:
        alone = self._by_depth.get(ID_BITS)
        return alone is not None and as_int(key) in alone

    def _closest(self, key: bytes, r: int) -> tuple[Contact, ...] | None:
        point = as_int(key)
        for shift, regions in self._paths:
            region = regions.get(point >> shift)
            if region is None:
                continue
            members = region.members
            if r == 1 and members:
                return (members[min(members, key=point.__xor__)],)
            if len(members) >= r or (region.depth == 0 and members):
                closest = sorted(members, key=point.__xor__)
                if region.all_count:
                    return tuple([members[each] for each in closest[:r]])
                found = tuple(islice(limit_per_block((members[each] for each in closest), self._per_block), r))
                if len(found) == r or region.depth == 0:
                    return found
        return None

    def learn(self, target: bytes, contacts: Sequence[Contact], now: float = 0.0) -> None:
        """Remember what a lookup of ``target`` for the k closest peers found.

        ``contacts`` are all the peers closest to the target, up to k and ourselves included if near enough; those beyond k are
        ignored. Fewer than k means that these are all there are. ``now`` is in seconds, of the caller's clock.
        """
        goal = as_int(target)
        known = sorted({as_int(each.id): each for each in contacts}.items(), key=lambda item: item[0] ^ goal)[: self._k]
        if not known:
            return
        if len(known) < self._k:
            # While there are fewer than k peers, every newcomer's own lookup asks all of them, so that discovered() hears of it.
            # From k on that is no longer so, and the whole network is no longer known.
            self._add(_Region(target, 0, 0, self._k, dict(known), now))
            return
        reach = known[-1][0] ^ goal
        depth = ID_BITS - reach.bit_length() + 1
        if depth < ID_BITS:
            shift = ID_BITS - depth
            inside = {peer: contact for peer, contact in known if peer >> shift == goal >> shift}
            self.usual_depth = depth
            if inside:
                self._add(_Region(target, depth, 0, 4 * self._k, inside, now))
            if len(inside) >= THIN:
                return
        self._add(_Region(target, ID_BITS, reach, 4 * self._k, dict(known), now))

    def forget(self, peer: PeerId) -> None:
        """A dead or wrong peer leaves every region."""
        point = as_int(peer)
        changed = False
        for region in list(self._ordered.values()):
            if region.members.pop(point, None) is not None:
                changed = True
                if not region.members:
                    self._drop(region)
        if changed:
            self._forget_answers()

    def discovered(self, contact: Contact) -> None:
        """A peer is known to live at this address: the regions that it falls into now hold it."""
        point = as_int(contact.id)
        changed = False
        for region in list(self._ordered.values()):
            if region.holds(point) and region.members.get(point) != contact:
                changed = True
                region.members[point] = contact
                region.all_count = region.all_count and block_of(contact.host) is None
                region.update_bits()
                self._decide_by(region)
                if len(region.members) >= region.full:
                    self._drop(region)
        if changed:
            self._forget_answers()

    def stale(self, before: float, limit: int) -> list[bytes]:
        """Targets of up to ``limit`` regions learned before that time, oldest first: look them up again."""
        # A thin subtree and its target are two regions of one lookup.
        old: dict[int, None] = {}
        for region in self._ordered.values():
            if len(old) == limit or region.learned_s >= before:
                break
            old[region.target] = None
        return [target.to_bytes(ID_BITS // 8, "big") for target in old]

    def clear(self) -> None:
        """Remember nothing: every key needs a lookup again."""
        for region in list(self._ordered.values()):
            self._drop(region)
        self._forget_answers()

    def _forget_answers(self) -> None:
        self._cached.clear()
        self._answers.clear()
        self.version += 1

    def _add(self, region: _Region) -> None:
        known = self._ordered.get((region.depth, region.prefix))
        if known is not None:
            self._drop(known)
            changed = known.members != region.members
        else:
            # What a region says for the first time contradicts no remembered key.
            changed = False
        if len(self._ordered) >= MAX_REGIONS:
            self._drop(next(iter(self._ordered.values())))
            changed = True
        if region.depth > 0:
            # A lookup found k peers: whoever believed to know the whole network does not.
            whole = self._ordered.get((0, 0))
            if whole is not None:
                self._drop(whole)
                changed = True
        self._decide_by(region)
        self._ordered[region.depth, region.prefix] = region
        self._by_depth.setdefault(region.depth, {})[region.prefix] = region
        self._rebuild_paths()
        # Keys are remembered only as long as a region would hear of their owners' death.
        if changed:
            self._forget_answers()

    def _decide_by(self, region: _Region) -> None:
        deciding = -(-region.bits // 8)
        if region.depth < ID_BITS and deciding > self._deciding:
            self._deciding = deciding
            self._cached.clear()
            self._answers.clear()

    def _drop(self, region: _Region) -> None:
        del self._ordered[region.depth, region.prefix]
        regions = self._by_depth[region.depth]
        del regions[region.prefix]
        if not regions:
            del self._by_depth[region.depth]
            self._rebuild_paths()

    def _rebuild_paths(self) -> None:
        # A single key first, as it may answer where its thin subtree cannot; else any order would do.
        self._paths = [(ID_BITS - depth, self._by_depth[depth]) for depth in sorted(self._by_depth, reverse=True)]
