"""New York taxi trips: count and mean distance per pickup cell, of one vendor's trips of more than a mile.

Windows of two seconds, as in Enjima's runs; trips are stamped at emission and replayed in a ring, as there. The cells
are the 600 by 600 cells of 250 m of the DEBS 2015 challenge.
"""
