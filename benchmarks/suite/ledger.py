"""What a system has told, added up into digests as it comes, and held against what is right."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from .digests import MASK, Weighed, row_hash, term_hash, weight
from .files import SIGN_OF, AnswerLine, Round

_MAX_TERMS = 1 << 20
"""Hashes of terms that are kept; beyond, all are computed again."""

Expected = dict[tuple[int, int], list[int]]
"""Of one subscription: by sign and row the positions at which it is to be told, in order."""


@dataclass
class _Account:
    """One subscription's."""

    weight: int
    held: int = 0
    by_round: int = 0
    by_position: int = 0
    rows: int = 0
    events: int = 0


@dataclass(frozen=True)
class Verdict:
    """How what was told compares with what is right."""

    right: int
    """Subscriptions whose rows and changes are right."""
    wrong: tuple[int, ...]
    """The numbers of those that are not."""
    refused: int
    missing: int
    """Rows that the last answers of sampled subscriptions lack."""
    surplus: int


@dataclass
class Ledger:
    """Everything that was told. ``exact``: each change is told of before the next one, so positions count."""

    exact: bool = False
    accounts: dict[int, _Account] = field(default_factory=dict)
    closed: dict[int, _Account] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    round: int = 0
    position: int = 0
    digest: int = 0
    """Of all rows that all open subscriptions hold, each weighed by its subscription."""
    told: int = 0
    last_told_s: float = 0.0
    latencies_s: list[float] = field(default_factory=list)
    handed: dict[int, float] = field(default_factory=dict)
    """When changes were due whose latency counts, by position."""
    span: tuple[int, int] = (0, 0)
    """The positions of this round: after the first, up to the second."""
    expected: dict[int, Expected] = field(default_factory=lambda: defaultdict(dict))
    """Of sampled subscriptions."""
    last_rows: dict[int, Counter[int]] = field(default_factory=dict)
    """Rows of sampled subscriptions, by their hashes."""
    _terms: dict[str | None, int] = field(default_factory=dict)

    def expect(self, answer: AnswerLine) -> None:
        """Take the history of a sampled subscription."""
        expected = self.expected[answer.subscription]
        for told in answer.history or ():
            expected.setdefault((SIGN_OF[told.sign], self.hash_of(told.row)), []).append(told.position)
        self.last_rows[answer.subscription] = Counter()

    def hash_of(self, row: Sequence[str | None]) -> int:
        """The hash of a row."""
        terms, hashes = self._terms, []
        for text in row:
            found = terms.get(text)
            if found is None:
                if len(terms) >= _MAX_TERMS:
                    terms.clear()
                found = terms[text] = term_hash(text)
            hashes.append(found)
        return row_hash(hashes)

    def open(self, subscription: int) -> None:
        """A subscription begins."""
        self.accounts[subscription] = _Account(weight(Weighed.SUBSCRIPTION, subscription))

    def refuse(self, subscription: int, why: str) -> None:
        """The system does not answer it."""
        del self.accounts[subscription]
        self.refused[subscription] = why

    def close(self, subscription: int) -> None:
        """A subscription has ended."""
        account = self.accounts.pop(subscription)
        self.digest = (self.digest - account.held * account.weight) & MASK
        self.closed[subscription] = account

    def tell(self, subscription: int, sign: int, row: Sequence[str | None]) -> None:
        """What a system tells; of subscriptions that are not open it is passed over."""
        account = self.accounts.get(subscription)
        if account is None:
            return
        now_s = self.last_told_s = time.perf_counter()
        self.told += 1
        hashed = self.hash_of(row)
        if sign:
            signed = sign * hashed
            account.rows += sign
            account.held = (account.held + signed) & MASK
            account.by_round = (account.by_round + signed * weight(Weighed.ROUND, self.round)) & MASK
            self.digest = (self.digest + signed * account.weight) & MASK
            if self.exact:
                account.by_position = (account.by_position + signed * weight(Weighed.POSITION, self.position)) & MASK
        else:
            account.events += 1
            account.by_round = (account.by_round + hashed * weight(Weighed.EVENT_OF_ROUND, self.round)) & MASK
            if self.exact:
                account.by_position = (account.by_position + hashed * weight(Weighed.EVENT_AT_POSITION, self.position)) & MASK
        expected = self.expected.get(subscription)
        if expected is not None:
            if sign:
                self.last_rows[subscription][hashed] += sign
            self._time(expected.get((sign, hashed), ()), now_s)

    def _time(self, positions: Sequence[int], now_s: float) -> None:
        # Where one row is to be told more than once in the round, nobody can say by which change it was.
        first, last = self.span
        of_round = [position for position in positions if first < position <= last]
        if len(of_round) == 1 and of_round[0] in self.handed:
            self.latencies_s.append(now_s - self.handed[of_round[0]])

    def is_right(self, end: Round) -> bool:
        """Whether all subscriptions together hold what they should at the end of a round. Only where none was refused."""
        return self.digest == int(end.digest, 16)

    def judge(self, answers: Sequence[AnswerLine]) -> Verdict:
        """Every subscription against what is right."""
        wrong, missing, surplus = [], 0, 0
        for answer in answers:
            number = answer.subscription
            if number in self.refused:
                continue
            account = self.accounts.get(number) or self.closed.get(number)
            if account is None or not self._agrees(account, answer):
                wrong.append(number)
                if answer.history is not None:
                    held = +self.last_rows[number]
                    should = self._last_rows(answer)
                    missing += (should - held).total()
                    surplus += (held - should).total()
        return Verdict(len(answers) - len(wrong) - len(self.refused), tuple(wrong), len(self.refused), missing, surplus)

    def _agrees(self, account: _Account, answer: AnswerLine) -> bool:
        mine = account.rows, account.events, account.held, account.by_round
        right = answer.rows, answer.events, int(answer.held, 16), int(answer.by_round, 16)
        return mine == right and (not self.exact or account.by_position == int(answer.by_position, 16))

    def _last_rows(self, answer: AnswerLine) -> Counter[int]:
        rows: Counter[int] = Counter()
        for told in answer.history or ():
            rows[self.hash_of(told.row)] += SIGN_OF[told.sign]
        return +rows
