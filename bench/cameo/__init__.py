"""The experiments of Cameo (Xu et al., NSDI 2021): latency-sensitive and bulk queries share the nodes, one command a
figure. What the paper leaves open (group keys, window lengths of IPQ1 to IPQ4, ticks, the Pareto distribution's shape)
is ours and said where it is defined.
"""
