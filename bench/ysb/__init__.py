"""The Yahoo Streaming Benchmark in its numeric form, with event time stamped at generation.

Filter views, join the ad's campaign, count per campaign in tumbling windows of ten seconds.
"""
