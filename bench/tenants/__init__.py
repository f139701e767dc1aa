"""Many tenants in one session: a query each, of the same shape, most of them idle, a few in a burst."""
