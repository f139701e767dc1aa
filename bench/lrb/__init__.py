"""Linear Road: variable tolls on expressways, from the position reports of all cars.

A segment's toll in a minute follows from the cars in the minute before, their mean speed over five minutes, and
accidents ahead. Departures from Enjima's query, where its public code is not what the benchmark says: cars are
counted, not reports; speeds are pooled over the five minutes; and an accident makes the tolls of its zone zero.
"""
