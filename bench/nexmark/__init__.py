"""Nexmark: an auction house in three streams, and the queries over them that streaming Spark can express.

Of 50 events one is a new person, three are new auctions and 46 are bids; here each kind is a stream of its own. The
rows are seeded, so that answers can be checked; results are compared with Spark's batch answer over the same rows.
"""
