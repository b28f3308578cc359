"""A peer's data directory: a log of changes in SQLite that cleans itself, each record with its checksum.

Open data_directory.py first (what lies where), then group_commit.py (when a change is acknowledged).

How it works:

A change is on disk before it is acknowledged: a primary answers a publisher, and a holder its primary, only when SQLite has
called fsync (gsg/storage/disk/group_commit.py). All that came while the disk was busy goes in one transaction with one fsync, so
that a thousand publishers wait no longer than one. The writing is done in a thread; what to write is decided without I/O
(gsg/storage/disk/journal.py): which facts have changed, and how each stands now. So a fact that changes often while the disk is
busy is written once, and writing something twice changes nothing. What changed together is written as one row at the end of a
table, so that it costs what has changed, however much lies there: a table in the order of facts had a page of 4 KiB written for
nearly each of them. Of a fact the last row holds; where more than half of the table holds no more, the oldest rows are written
anew as things stand, a few with each write, and go (gsg/storage/disk/compaction.py). Subscribers hear of a change when it is
made, not when it is on disk: after a crash a row that nobody acknowledged may have been seen and be gone.

A peer that starts again with its directory is the same peer: it has its id, its facts and tombstones, and its clock goes on after
all stamps that it gave or saw, and its numbers after those that it gave, whatever the machine's clock says: the time is written
every 30 s, also while nothing changes. With port 0 it takes the port that it had, if that is free. It finds the others by its
address book, without --join; one that has never been let in anywhere is not one that was stopped, and must be; where there is a
--join and nobody answers, it goes on alone and calls again, since all peers may have been stopped and it be the first that is
back; where somebody answers and refuses it, it does not start. Then it is treated like a newcomer: others send it what they hold
for its keys, it sends them what it has, and of each fact the later change counts.

What is read from a disk is what was written, or is told as damaged and fetched from other holders. Each row has 64 bits of
BLAKE2b over what it says, its number, its clock and its weight, and 32 bits of CRC by which a single wrong bit is found and put
right (gsg/storage/disk/record_checksums.py). Rows are numbered without gaps, and the lowest number that there is to be is kept:
so a row that a damaged page has lost is missed, as is one that stands in another place. All are looked at when the directory is
opened; where any is wrong, what is sound goes into a new file (gsg/storage/disk/salvage.py), and the peer starts without the
rest, which other holders give it by hand-over and repair like anything else that it has missed. SQLite takes its log up to the
first bad frame and drops all later commits without a word; so the log is looked at before SQLite writes to it, and one with a bad
frame that was acknowledged is written anew, with checksums that hold (gsg/storage/disk/wal_check.py). A frame is known to have
been acknowledged where a later transaction follows it, since each is synced before the next is written; the end of the log, of
which that cannot be said, is held against the number in acknowledged (gsg/storage/disk/acknowledged_mark.py). A running peer
looks through its disk slowly, and over and over (gsg/storage/disk/scrub.py); where a row is damaged it writes all facts anew from
memory, and the old rows go. Before each acknowledgement it sees that the files are still those that it opened
(gsg/storage/disk/directory_identity.py). Files of earlier versions had no checksums; of these only what cannot be is damage, as a
time far beyond all others (gsg/storage/disk/records.py). A time beyond what the peer's own clock lets pass is not believed from
its own disk either: the fact stays, with the earliest stamp there is, so that whatever others say of it holds.

A file that cannot be opened, of a later version, of another program, or in use by another peer is refused by name, and no fact in
it is changed or removed; the error says what to do.
"""
